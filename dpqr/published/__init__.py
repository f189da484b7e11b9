"""What anybody may do with published files: verify, reprice, ask again, export, start from.

Other rooms import these modules, and no others:

    checks    the checks of a release
    evidence  what a release consists of, read or made again
    export    tables for other tools; a start for a later release
    later     new questions on a released model
    show      a release looked at again
    verify    all checks, in their order

Inside:

    prediction_checks  the checks of predictions
    repeat             a release, or a session, made again from its record
"""
