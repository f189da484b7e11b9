"""The durable public transcript of a run that a ledger pays for, from which the run can be continued."""
