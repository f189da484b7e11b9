"""What a session of several processes keeps between its questions: a folder beside the ledger that pays for it."""
