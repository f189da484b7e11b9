"""The only door for randomness: sources of bits, and exact samplers that turn bits into noise."""
