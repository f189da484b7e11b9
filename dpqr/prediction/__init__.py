"""Private prediction: learners whose sensitivity is proved, ensembles, and the plan of a prediction run."""
