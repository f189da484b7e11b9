"""The Iterative Construction: the loop, its certificate, and the release it ends with."""
