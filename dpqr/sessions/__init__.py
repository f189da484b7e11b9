"""Questions and predictions that come one at a time."""
