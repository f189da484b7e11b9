"""A release: plan, pay, loop, answers, record, files, verify."""
