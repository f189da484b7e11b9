"""Hypotheses, on which the workload can be evaluated, and their fit to noisy answers.

Other rooms import these modules, and no others:

    averaging            the weights of several models of the same noisy answers
    compound             a model with columns or tables set beside it; the mean of several
    factored             a distribution as consistent tables of cliques
    fit.buckets          counts of buckets, shrunk, smoothed and spread
    fit.descent          minimisers of smooth convex functions
    fit.evidence         measurements as a fit takes them
    fit.local_fits       fits of single tables, without a model
    fit.log_linear       log-linear models and belief propagation
    fit.maximum_entropy  the maximum-entropy fit
    fit.misfit           what noisy answers show of a fit's errors
    hypothesis           dense, signed and linear hypotheses, and what each can answer
    junction_tree        trees of cliques by triangulation
    piecewise            constant probabilities on pieces
    rows                 weighted rows, and synthetic rows fitted to tables
    small_databases      nets and polytopes of the median mechanism

Inside:

    latent_classes       mixtures of products, and their fit
"""
