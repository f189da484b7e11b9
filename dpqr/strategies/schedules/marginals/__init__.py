"""The schedule for marginals: candidate plans, of which the one of least forecast error is followed.

Those who know AIM and HDMM read it in this order:

1. `decision`: one table, all blocks, all pairs, one-way marginals, or a search, each with its forecast error. Known
   records choose before the run; else a noisy count does, where the records would decide. After the first one-way
   marginals the measured error that they leave in pairs chooses: the search, or one of the other plans after all.
2. `schedule`: the plan and the states of a run, each of which makes a step of what was decided.
3. `search`: as AIM, but in batches and without a fixed number of rounds: selections by the answers' error less the
   noise, stopped when batches show less than a further block costs, or when a check of the other blocks shows that
   measuring all is worth it. Weak one-way marginals are measured again before it.
4. `candidate_blocks`: what may be measured: surrogate marginals, pairs before wider blocks, coarser blocks.
5. `last_measurements`: what is left goes to the explored blocks and to one-way marginals, in the split of least error.
6. `forecast`: what a share of the budget buys, the error that its noise leaves in a block after the fit, and the
   error of a whole plan, by which candidates are compared; all constants.
"""
