"""The command line: parse, call one use case, render, exit code. Nothing heavy is imported before a command runs."""
