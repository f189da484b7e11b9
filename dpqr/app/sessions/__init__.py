"""Questions that come one at a time under one budget."""
