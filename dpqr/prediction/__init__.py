"""Private learning and prediction.

Other rooms import these modules, and no others:

    ensembles.bases      learners of an ensemble's members, each in a process of its own
    ensembles.ensemble   one member a part, and what they predict together
    learned_functions    noisy weights, or noisy predictions
    learners.examples    the rows that learners read
    learners.features    feature maps and kernels
    learners.losses      losses and their constants
    learners.moments     least squares from noisy moments
    learners.perturbed   learners of perturbed objectives
    learners.stable      regularised minimisers and their sensitivity
    perturbation         objective perturbation: mechanisms, and their figures
    plan                 plans of predictions, and their mechanisms
    planner              documents and options to the plan of least noise
    predict              plan, pay, open, predict, write
    problem              all that is public before any data
    rates                what else the budget would buy; what predictions lose
    receipt              plan and receipt as text
    record               what a run publishes, its record, and models
    third_party          losses and learners of other packages
    tuning               a private choice among lambdas
    votes                labels by votes of an ensemble

Inside:

    ensembles.member         the process that trains one member
    forms                    the ways of release, with event and noise
    learners.corners         hinge and pinball losses
    learners.exact_kernel    predictions by a kernel itself
    learners.gradient_steps  gradient descent, online and averaged learners
    learners.solver          certified minimisers
    recipes                  learners as a user names them
    risk_bounds              what minimisers lose for want of records
"""
