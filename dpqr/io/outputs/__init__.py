"""What a run leaves on disk: answers, the release record, synthetic data, and the directory they stand in."""
