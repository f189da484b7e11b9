"""Strategy matrices of least expected error."""
