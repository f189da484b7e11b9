"""Use cases: one function each, no command line, no printing."""
