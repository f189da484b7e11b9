"""Bounds: what predictions lose for want of records and by noise, and what follows for their parameters."""
