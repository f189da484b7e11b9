"""The schedule for marginals: candidate plans, of which the one of least forecast error is followed.

Those who know AIM and HDMM read it in this order:

1. `forecast`: what a share of the budget buys, and the error that its noise leaves in a block after the fit; the gap
   that a measurement shows; all constants.
2. `candidate_blocks`: what may be measured: surrogate marginals, pairs before wider blocks, coarser blocks.
3. `candidate_plans`: one table, all blocks, all pairs, one-way marginals, or a search, each with its forecast error at
   so many records. Known records choose before the run; else a noisy count does, where the records would decide.
4. `continuation`: after the first one-way marginals, from the measured error that they leave in pairs: the search,
   or one of the other plans after all. Weak one-way marginals are measured again.
5. `search`: as AIM, but in batches and without a fixed number of rounds: selections by the answers' error less the
   noise, stopped when batches show less than a further block costs, or when all blocks are worth measuring.
6. `last_measurements`: what is left goes to the explored blocks and to one-way marginals, in the split of least error.
7. `schedule`: the plan and the states of a run, each of which makes a step of the above.
"""
