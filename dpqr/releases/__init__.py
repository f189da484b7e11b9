"""A release: plan, pay, loop, answers, record, files, forecast.

Other rooms import these modules, and no others:

    answers.answered         answers of a block beside the names of its cells
    answers.errors           estimated errors and intervals
    answers.figures          means, quantiles and ratios, with intervals
    answers.noisy            what was measured, unbiased
    answers.refits           by how much a refit would be off
    any_release              a release, of what is stated or of what is learned first
    documents                check documents, print schemas, write domain files
    draws                    the run's only access to private counts
    files.answer_tables      answers as frames and tidy tables
    files.atomic             outputs that appear whole or not at all
    files.formats            the formats of tables, a row each
    files.read_release       a release read back from its files
    files.release_files      what the files of a release hold: answers, figures, synthetic data
    files.tidy               tidy tables of texts and figures, and their files
    files.views              whole-number views beside the answers, and how they add up
    forecast.by_epsilon      errors by epsilon, and the epsilon of a goal
    forecast.exact_errors    true answers of public data
    forecast.explain         which strategies suit a workload, and why
    forecast.levers          what would make answers better; queries explained
    forecast.resources       time, memory and disk, forecast
    forecast.shares          the share of answers within a distance
    forecast.simulation      the expected error of one plan, on made-up tables
    journal                  draws on the disk before anything depends on them
    learned.learned_domain   `dpqr domain --learn`: labels, bounds and the rows of each person, learned by themselves
    learned.learning         what is learned from a table: its plan, draws and domain file
    locked_plan              plans written to be reviewed, and followed or refused
    loop                     the Iterative Construction, as on the book's page
    paying                   bills, and runs that a ledger pays for
    planning                 documents and options to a plan
    questions                questions one at a time, and their replay
    reading                  which table is read, and how; the public request
    receipt                  the plan and the receipt as text
    record.parts             parts that the documents share
    record.plan_document     the plan's document
    record.release_document  release.json
    rehearsal                a whole run on made-up rows
    release                  plan, pay, open, loop, write, settle
    requests                 what the commands ask
    result                   all that a run gives away
    roles                    names of strategies to strategies
    sentences                what a release promises, in words
    start                    what a later release starts from

Inside:

    answers.margins          noise of single columns, passed on to answers over several
    consistent               updates that cost nothing
    counters                 counters and periods of a release
    error_bounds             the certificate, and noisy errors that were bought
    fingerprints             what a resumed run must have in common with its beginning
    learned.learned_release  a release that first learns labels, bounds or the rows of each person
    learned.person_rows      how many rows of each person are used, chosen by noisy counts of persons
"""
