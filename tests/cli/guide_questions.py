"""Thirty questions as people type them, and the sections of the guide that answer them: `topic`, the text before its
first heading, or `topic/heading`. Written before the search ranked anything, and not changed since.

The synonyms of the search may be set by the first half. The second half only says how well it does.
"""

SETTING = {
    "how do I choose epsilon": ("forecast/Which epsilon do I need?",),
    "small counts": ("results/Small counts",),
    "count persons": ("units/Persons", "units"),
    "docker": ("ci/In a container",),
    "what does exit code 4 mean": ("ci/Exit codes",),
    "my csv file uses semicolons": ("tables", "start/1. Say what the columns hold"),
    "how do I round answers": ("figures/Views", "results/On the screen"),
    "can I open an Excel file": ("tables/Tables of other programs",),
    "resume after a crash": ("ledger/A release that was killed",),
    "median income": ("figures/Entries", "figures"),
    "missing values": ("domain/Rules for values that fit no cell", "domain/Values as people write them"),
    "how much budget is left": ("ledger", "ledger/Before you spend", "start/5. Release, and look at it"),
    "confidence intervals": ("results/Errors and intervals", "figures/Intervals"),
    "generate synthetic data": ("models/Synthetic rows",),
    "github actions": ("ci/A job on a CI service",),
}
REPORTING = {
    "what is a privacy unit": ("privacy/Unit and neighbours", "privacy"),
    "how accurate will my answers be": ("forecast",),
    "connect to a postgres server": ("scale/PostgreSQL", "tables/Databases"),
    "monthly statistics": ("periods", "series", "series/Counters"),
    "date format": ("domain/Values as people write them",),
    "use a pandas dataframe": ("python", "python/Tables"),
    "totals by region and country": ("hierarchies", "hierarchies/The entry", "hierarchies/Parents"),
    "who must approve a release": ("review/Two persons", "review"),
    "negative counts": ("figures/Views", "results/Small counts"),
    "write queries in SQL": ("sql", "sql/What is understood"),
    "limit memory": ("tables/What is checked when", "units/Persons"),
    "tab completion in my shell": ("settings/Completion and manual pages",),
    "how can I check that a release is genuine": ("verify", "verify/What no check can show"),
    "survey weights": ("queries/Survey weights",),
    "train a classifier": ("prediction/Learners", "prediction"),
}

USERS = {
    # a statistician
    "why do my totals not add up": ("figures/Views",),
    "standard error of a mean": ("figures/The table",),
    "open ended age bands": ("domain",),
    "can I test whether two groups differ": ("figures/Intervals", "results/Errors and intervals"),
    "can I run a regression on the released data": ("models/Synthetic rows",),
    # an engineer
    "run it every night from cron": ("ci",),
    "my table does not fit in RAM": ("tables",),
    "two jobs spend from the same budget at once": ("ledger",),
    "can someone repeat my release with the same seed": ("verify", "verify/Other versions of numpy, other machines"),
    "read only some columns of the table": ("tables", "python/Tables"),
    # a data protection officer
    "what could an attacker learn about one person": ("privacy", "report/The page"),
    "how many releases can we make per year": ("ledger", "periods"),
    "undo a release that was a mistake": ("ledger",),
    "is the table deleted or sent anywhere": ("start",),
    "who signed off this release": ("review", "review/Two persons"),
    # a journalist
    "what does the error column mean": ("results/Columns of the answers",),
    "why is a count not a whole number": ("figures/Views", "figures", "results/Columns of the answers"),
    "can I quote these numbers in an article": ("report/The page", "results/What may I publish?"),
    "which figures are too noisy to print": ("results/Small counts",),
    "what is delta": ("privacy",),
}
"""Twenty more, of four kinds of users. When they were written 8 found their answer among the first three; then the text
of the guide was mended, and never a synonym. Their writer had seen the list of synonyms by then, and not used it."""
FIRST = {
    "how do I choose epsilon": "forecast/Which epsilon do I need?",
    "small counts": "results/Small counts",
    "count persons": "units/Persons",
    "docker": "ci/In a container",
    "rounding": "figures/Views",
    "missing values": "domain/Rules for values that fit no cell",
    "which rows are dropped": "domain/Rules for values that fit no cell",
    "what may I publish": "results/What may I publish?",
    "how long does it take": "forecast/How long does it take?",
}
"""What the guide answers in the first sentences of a section."""
