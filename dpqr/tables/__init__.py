"""Private tables to sealed counts: files, frames, databases."""
