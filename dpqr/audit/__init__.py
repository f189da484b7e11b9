"""The build under attack, and what third parties' rules are asked.

Other rooms import these modules, and no others:

    attack                    the event that tells two databases apart
    case                      two neighbouring databases, what is run, what is claimed
    conformance.engines       sources of rows against an awkward table
    conformance.learners      losses and learners
    conformance.mechanisms    distinguishers and checks under attack
    conformance.schedules     schedules
    conformance.update_rules  update rules against an adversary
    run                       the chosen cases, in several processes

Inside:

    cases.counters       counters over periods
    cases.files          whole releases from files to files
    cases.filters        adversaries against filters
    cases.learned_labels  labels that nobody has listed
    cases.noisy_answers  noisy answers and errors
    cases.persons        tables of persons, through the loader
    cases.predictions    predictions, votes, learned functions
    cases.releases       whole releases, by every schedule
    cases.selections     private selections, searches, comparisons with a threshold
    conformance.cases    tiny universes
    law                  the laws of a run's numbers, computed apart
"""
