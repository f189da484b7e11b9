"""The public Python interface.

Other rooms import these modules, and no others:

    answer             new questions, exports
    build              strategies, guide, audit
    checks             checks of option values
    documents          documents checked and made
    domain             domain files in Python
    evaluate           exact errors, sweeps
    forecast           forecasts
    guide_search       search of the guide
    learning_options   rows of options: predictions and sessions
    ledger             budgets
    options            rows of options: releases and plans; what they say for every door
    owner_options      rows of options: budgets, documents, facts of cards
    plan               plans
    predict            predictions
    published_options  rows of options: what reads a release, audit
    queries            queries files in Python
    release            releases
    reports            reports
    requests           requests made of options by name
    series             series
    sessions           sessions
    settings           dpqr.toml
    shown              what a notebook shows
    tutorial           a folder to learn in: made-up data, and what to type
    verify             verify, reprice, compare

Inside:

    approval  approvals of locked plans
    project   the files of a new project
"""
