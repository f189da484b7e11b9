"""Maximum-entropy fits to released noisy answers: log-linear models on a junction tree, and what refines them.

A fit reads released answers and public facts; it knows no private value, no budget and no schedule.
"""
