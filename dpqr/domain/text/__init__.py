"""Documents as text: read strictly, decoded, and their faults placed."""
