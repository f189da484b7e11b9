"""What a user picks by name: update rules, distinguishers, checks and schedules."""
