"""The documents of plans and releases."""
