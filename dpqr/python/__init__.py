"""The public Python interface."""
