"""Private tables: CSV and Parquet files become a sealed histogram database over a public domain."""
