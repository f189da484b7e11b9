"""The trusted kernel: budgets, events and their prices, the seal and the one gate that opens it."""
