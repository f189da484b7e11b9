"""From documents and options to a plan, without data."""
