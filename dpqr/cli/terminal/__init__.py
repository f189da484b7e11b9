"""What commands show: standard output and standard error, progress, and how a command ends."""
