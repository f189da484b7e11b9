"""How a budget is cut into draws."""
