"""The source's loop on single queries, and the accuracy that it can promise."""
