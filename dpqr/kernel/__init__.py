"""What must be trusted: exact noise, the gate, events and their prices, errors.

Other rooms import these modules, and no others:

    accountants.accountant       accountants and filters: what events cost together, and how a budget is cut
    accountants.analytic         the exact curve of Gaussian noise, and Gaussian differential privacy
    accountants.by_count         one pure draw, then sums of epsilon or of mu^2, as that draw decides
    accountants.fixed_schedules  advanced and optimal composition, for schedules fixed in advance
    accountants.known            the built-in accountants by name
    accountants.losses           the price of each event in epsilon, in rho and in mu^2
    accountants.pld              privacy loss distributions of fixed schedules
    accountants.sums             basic and zero-concentrated composition
    arrays                       types of arrays
    budget                       the budget of a run, prices, costs, and all of them as exact text
    currency                     the unit of a budget for life, and the cost of runs in it
    errors                       every error that a user can meet, with its exit code
    events                       what a mechanism did, for accounting
    exact                        exact values of public data through the same gate
    files                        directories, synced names, space set aside
    gate                         the only place where a private value is read
    noise.bits                   random bits to uniform and Bernoulli draws; proved bounds of exp
    noise.discrete_laplace       discrete Laplace and geometric noise, drawn exactly
    noise.gaussian               discrete and rounded Gaussian noise, drawn exactly
    noise.keeping                whether a label is kept, given how many have it; drawn exactly
    noise.law                    what a noise law tells: figures and tail bounds
    noise.public                 public randomness, seeded and repeatable
    noise.selection              exact draws of the exponential mechanism and of permute-and-flip
    noise.source                 the only source of private random bits
    noise.spherical_laplace      noise on vectors, falling with the Euclidean norm
    plugins                      strategies by name, built-in and third-party
    sealed                       the type that says whether a value is private
    unit                         what one guarantee protects: neighbours, persons
    values                       fields of values, and copies with other ones
    wording                      figures and foreign text fit for any terminal

Inside:

    accountants.loss_laws  the worst two output laws of a draw, and sums of privacy losses
    accountants.numerics   sixty decimal digits with proved rounding
"""
