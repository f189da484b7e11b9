"""Sources: attempts to choose the place, the text or the moment at which a database runs over a private table."""
