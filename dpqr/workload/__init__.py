"""Linear queries: blocks, matrices, the queries file, SQL."""
