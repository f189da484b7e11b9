"""The only source of randomness: random bits, and exact samplers that turn bits into noise."""
