"""Parquet tables: footers weighed before they are decoded, Arrow batches, typed columns become codes."""
