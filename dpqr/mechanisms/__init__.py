"""Randomised functions of counts, each with the event that it costs.

Other rooms import these modules, and no others:

    block_errors   noisy L1 errors of a hypothesis
    box_scores     scores of many boxes, searched without scoring all
    learning       labels, ends and cuts of columns that nobody has described; rows of each person
    noisy_answers  exact answers plus exact noise
    selection      private selection by integer scores
    sparse_vector  comparisons with a noisy threshold
"""
