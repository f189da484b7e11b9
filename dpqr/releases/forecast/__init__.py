"""What a release is expected to cost and to err by: errors, times, and what would make them better."""
