"""Questions and predictions that come one at a time.

Other rooms import these modules, and no others:

    interactive  open, ask, look, close
    planning     what is measured first, and terms
    predictions  sessions of predictions
    session      one reservation that several processes draw from
    turn         what answers the next question, and the release of a closed session

Inside:

    folder  the files of a session, and the order of its writes
"""
