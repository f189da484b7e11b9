"""Private learning and prediction."""
