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
    "tab completion in my shell": ("settings/Completion",),
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
NEW_SETTING = {
    # the first five were asked by others, and missed
    "what does delta mean": ("privacy",),
    "can I release the same table twice": ("ledger", "ledger/What adds up", "ci", "privacy/What is not promised"),
    "someone used up the budget": ("ledger", "ledger/Before you spend", "ledger/Policy"),
    "histogram of ages": ("queries", "queries/Every kind of query"),
    "error too large": ("results/Small counts", "forecast", "start/3. Try it, for nothing"),
    # a statistician
    "are zeros real zeros": ("domain/Public facts",),
    "percentiles of waiting time": ("figures/Entries", "figures", "queries/Every kind of query"),
    "compare this year with last year": ("series", "verify/Two releases side by side"),
    "what happens to outliers": ("domain/Rules for values that fit no cell", "domain"),
    "ten most frequent diagnoses": ("figures/Entries", "queries/Every kind of query"),
    "are the estimates unbiased": ("results/Columns of the answers", "strategies/strategy"),
    # an engineer
    "environment variables": ("ci/Environment",),
    "run without internet": ("ci/In a container",),
    "load a Stata file": ("tables/Tables of other programs",),
    "can several threads read the file": ("tables",),
    "the job is locked out of the ledger": ("ci/Exit codes", "ledger/One budget for many machines"),
    "columns contain European number formats": ("domain/Values as people write them",),
    # an officer
    "how many rows may one person have": ("units", "units/Persons", "privacy/Unit and neighbours"),
    "is it GDPR compliant": ("privacy/What is not promised",),
    "who has access to the raw data": ("privacy/What is not promised", "privacy/How the guarantee is kept", "start"),
}
NEW_REPORTING = {
    # a statistician
    "cumulative distribution of age": ("queries", "queries/Every kind of query", "figures/Intervals"),
    "cross tabulation of sex and education": ("queries", "queries/Every kind of query"),
    "which distribution does the noise follow": ("privacy/How the guarantee is kept", "strategies/The roles"),
    "do the intervals hold simultaneously": ("results/Errors and intervals",),
    "my categories are not known in advance": ("domain/Labels or bounds that nobody knows",),
    "how is the budget split between queries": (
        "strategies",
        "strategies/marginals",
        "hierarchies/How the budget is split",
    ),
    "variance of a column": ("figures/Entries",),
    # an engineer
    "return code of a failed job": ("ci/Exit codes",),
    "parse error messages in a script": ("ci/Failures as JSON",),
    "call it from a Jupyter notebook": ("python", "python/Tables"),
    "turn off colours in the log": ("ci/Streams", "ci/Environment"),
    "overwrite an existing output folder": ("ci/A release that is there already",),
    "write my own update rule": ("extending",),
    "test the pipeline without spending": ("ci/A rehearsal", "start/3. Try it, for nothing", "ledger/Before you spend"),
    "invalid rows in the CSV": ("tables/Malformed rows",),
    # an officer
    "can the guarantee be proved to an auditor": ("audit", "verify"),
    "protect whole households": ("units/A household; one person's day, month or item",),
    "limit how much one release may spend": ("ledger/What adds up", "ledger", "ledger/Policy"),
    "is the true count ever shown": ("privacy/How the guarantee is kept", "results/Small counts"),
    "explain the risk to lay people": ("privacy", "report/A label", "report/The page"),
}
"""Forty more. When they were written 11 and 10 of 20 found their answer among the first three. The first half then set
the search; what the second half and the threads below missed (12 and 8 were found) led to the index."""
THREADS = {
    "users do not know the bounds": ("domain/Labels or bounds that nobody knows",),
    "categories unknown": ("domain/Labels or bounds that nobody knows",),
    "rows silently vanish": ("units/What was left out", "domain/Rules for values that fit no cell"),
    "counts clamped at zero are biased": (
        "results/Small counts",
        "results/Columns of the answers",
        "results/Errors and intervals",
        "figures/Views",
    ),
    "how many queries are left": ("ledger", "python/Budgets", "interactive"),
    "cost of a batch of queries before running it": (
        "forecast",
        "ledger/Before you spend",
        "start/3. Try it, for nothing",
    ),
    "give some information about risk": ("privacy", "report/The page", "report/A label"),
    "setting epsilon is very hard": ("forecast/Which epsilon do I need?",),
    "derive epsilon from acceptable utility": ("forecast/Which epsilon do I need?",),
    "confidence intervals along with the data": (
        "results/Errors and intervals",
        "results/Columns of the answers",
        "figures/Intervals",
    ),
    "do I need my own evaluation scripts": ("evaluate",),
    "it takes more than 18 hours": ("forecast/How long does it take?",),
    "how much memory before running": ("forecast/How long does it take?", "ledger/Before you spend"),
    "progress bar": ("tables/Progress", "ci/Streams"),
    "non-interactive pipeline": ("ci",),
    "imputation of missing values": ("domain/Rules for values that fit no cell",),
    "NaN in a column": ("domain/Rules for values that fit no cell",),
    "is the noise vulnerable to floating point attacks": ("privacy/How the guarantee is kept",),
    "joins of several tables": ("privacy/What is not promised",),
    "data domain from a file": ("domain", "codebooks"),
}
"""Twenty more, in the words of public threads about other programs."""
FRESH = {
    "my results change every time I run it": (
        "privacy/How the guarantee is kept",
        "verify/Other versions of numpy, other machines",
    ),
    "export answers to Excel": ("results",),
    "rerun the same command after a power cut": ("ledger/A release that was killed",),
    "a colleague must sign before anything is spent": ("review", "review/Two persons"),
    "average salary by department": ("figures", "figures/Entries"),
    "number of distinct patients per hospital": ("units/Persons",),
    "dates are in German format": ("domain/Values as people write them",),
    "semicolon separated file with Windows encoding": ("tables", "start/1. Say what the columns hold"),
    "ages above 100": ("domain/Rules for values that fit no cell", "domain"),
    "can I trust a release somebody sent me": ("verify", "verify/What no check can show"),
    "is epsilon 3 safe": ("forecast/Which epsilon do I need?", "privacy"),
    "which algorithm is used by default": ("strategies",),
    "password for the database": ("ledger/One budget for many machines", "tables/Databases", "scale/PostgreSQL"),
    "make a chart for the newspaper": ("report/The page", "report", "results/On the screen"),
    "what is a marginal": ("queries/Every kind of query", "queries"),
    "does a rehearsal cost anything": ("ci/A rehearsal", "start/3. Try it, for nothing"),
    "no header line in the CSV": ("domain", "start/1. Say what the columns hold", "tables"),
    "ICD codes in chapters": ("hierarchies", "hierarchies/Parents"),
    "monthly report for a growing table": ("periods", "series"),
    "set defaults so I do not have to type options": ("settings", "settings/The file"),
    "the program ended with 5": ("ci/Exit codes",),
    "catch exceptions in Python": ("python/Errors",),
    "loop over several epsilons": ("python/Sweeps", "forecast"),
    "keep the ledger safe from tampering": (
        "ledger/Anchors: rollbacks of the ledger",
        "ledger/Checking a ledger",
        "ledger/What a ledger cannot do",
    ),
    "is there a web page of the results": ("report", "report/The page"),
    "why are estimates below zero": ("results/Small counts", "figures/Views"),
    "answer another question without paying again": ("answer", "interactive"),
    "the machine has only 4 GB": ("tables", "tables/What is checked when", "forecast/How long does it take?"),
    "several visits of one patient": ("units", "units/Persons"),
    "who may change the limits": ("ledger/Policy",),
}
"""Thirty more, written last: they set nothing."""
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
