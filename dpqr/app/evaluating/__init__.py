"""How far off releases are, or would be: on tables that may be looked at."""
