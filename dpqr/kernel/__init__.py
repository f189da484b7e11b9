"""What must be trusted: exact noise, the gate, events and their prices, errors."""
