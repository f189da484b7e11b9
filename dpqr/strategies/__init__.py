"""Roles of the Iterative Construction: schedules, distinguishers, checks, update rules.

Other rooms import these modules, and no others:

    candidates                      what a selection chooses from, and its scores
    checks                          the noisy answer and the stop test
    counter                         the privacy of cumulative counts over periods
    distinguishers                  private selection of the worst-answered candidate
    explanation                     what each strategy is worth for a workload
    guard                           the filter that stands between a run and its data; what goes together
    known                           the strategies by name, role by role
    plan                            a run before any data: draws, numbers, prices
    problem                         the public facts of a run
    schedules.anytime               the source's loop in stages of falling alpha
    schedules.by_count              a noisy count decides the accountant
    schedules.drafts                parts that several schedules' plans share
    schedules.marginals.forecast    noise that a share buys, the error that it leaves, and that of a plan
    schedules.marginals.schedule    marginals: the plan and its states
    schedules.ordered               prefixes and ranges: buckets where records are few
    schedules.planner               which plan a run follows: schedule, accountant and noise, compared by forecast
    schedules.rounds                block rounds and rounds of single queries
    schedules.split                 shares of the budget: left-out records, schedule, errors, certificate
    schedules.theory                the source's loop with its printed constants
    transcript                      steps, rounds, and all that was released so far
    updates.interface               what an update rule is; mistake bounds
    updates.least_squares           unbiased least squares, of cells and of buckets
    updates.median                  halving over small databases
    updates.multiplicative_weights  multiplicative weights, with replay, over cells or rows
    updates.perceptron              the perceptron
    updates.record_count            the number of records, estimated where it is private

Inside:

    designs.buckets                        strategies over buckets, and the buckets
    designs.gram                           Gram matrices of a workload
    designs.kronecker                      one strategy a column, each tuned to the others
    designs.trees                          trees and levels with weights of least error
    schedules.marginals.candidate_blocks   what the search may choose
    schedules.marginals.decision           the ways to spend a budget on marginals, and when one is decided for
    schedules.marginals.last_measurements  what is measured with the rest
    schedules.marginals.search             the search among marginals, batch by batch
    schedules.parts                        ordered columns apart, marginals for the rest
    schedules.strategy                     one strategy measurement, least squares
    updates.maximum_entropy                the maximum-entropy fit as an update rule
    updates.product                        a fit, times a histogram a column apart
"""
