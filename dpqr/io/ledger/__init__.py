"""The embedded ledger: one SQLite file whose entries are chained by hashes, and an anchor that can lie elsewhere."""
