"""Private and public randomness: the source of bits, and exact laws drawn from it."""
