"""A second pair of eyes: `check.py` checks releases, predictions and ledgers with no code of this package.

It imports the standard library alone and runs under Python 3.9 by itself: `python check.py RELEASE`. It is written from
topic `formats` of the guide and from the theorems that it names. It imports no room, and no room but the door of Python
(`dpqr verify --independent`) runs it. A fault that it shared with the package would hide from both, so nothing may be
moved from here to there, or back.

Other rooms import these modules, and no others:

    check  all of it
"""
