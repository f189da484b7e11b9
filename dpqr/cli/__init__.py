"""The command line.

Other rooms import these modules, and no others:

    main  the group of commands

Inside:

    arithmetic  the same figures on all processors
    budget      dpqr budget
    completion  shell completion
    documents   dpqr check, domain, schema, init
    endings     errors as words and exit codes
    guide       dpqr guide
    options     rows of options as click options
    predict     dpqr predict
    release     dpqr release, plan
    releases    dpqr answer, export, show, series, report, evaluate
    screen      what goes to the terminal
    sessions    dpqr interactive; sessions of predictions
    settings    dpqr.toml at work
    strategies  dpqr strategies
    streams     results to stdout, remarks to stderr
    verify      dpqr verify, reprice, compare, audit
"""
