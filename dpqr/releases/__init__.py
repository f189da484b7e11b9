"""A release: plan, pay, loop, answers, record, files, forecast.

Other rooms import these modules, and no others:

    answer_tables            answers as frames and tidy tables
    any_release              a release, of what is stated or of what is learned first
    answers.answered         answers of a block beside the names of its cells
    answers.errors           estimated errors and intervals
    answers.figures          means, quantiles and ratios, with intervals
    answers.noisy            what was measured, unbiased
    answers.refits           by how much a refit would be off
    documents                check documents, print schemas, write domain files
    draws                    the run's only access to private counts
    exact_errors             true answers of public data
    explain                  which strategies suit a workload, and why
    files                    outputs that appear whole or not at all
    forecast                 errors by epsilon, and the epsilon of a goal
    forecast_error           the expected error of one plan, on made-up tables
    formats                  the formats of tables, a row each
    journal                  draws on the disk before anything depends on them
    learning                 labels, bounds and the rows of each person, learned from the table
    levers                   what would make answers better; queries explained
    locked_plan              plans written to be reviewed, and followed or refused
    loop                     the Iterative Construction, as on the book's page
    paying                   bills, and runs that a ledger pays for
    planning                 documents and options to a plan
    questions                questions one at a time, and their replay
    read_release             a release read back from its files
    reading                  which table is read, and how; the public request
    receipt                  the plan and the receipt as text
    record.parts             parts that the documents share
    record.plan_document     the plan's document
    record.release_document  release.json
    rehearsal                a whole run on made-up rows
    release                  plan, pay, open, loop, write, settle
    release_files            what the files of a release hold: answers, figures, synthetic data
    requests                 what the commands ask
    resources                time, memory and disk, forecast
    result                   all that a run gives away
    roles                    names of strategies to strategies
    sentences                what a release promises, in words
    shares                   the share of answers within a distance
    start                    what a later release starts from
    tidy                     tidy tables of texts and figures, and their files
    views                    whole-number views beside the answers, and how they add up

Inside:

    answers.margins     noise of single columns, passed on to answers over several
    consistent          updates that cost nothing
    counters            counters and periods of a release
    error_bounds        the certificate, and noisy errors that were bought
    fingerprints        what a resumed run must have in common with its beginning
    learned_release     a release that first learns labels, bounds or the rows of each person
    person_rows         how many rows of each person are used, chosen by noisy counts of persons
"""
