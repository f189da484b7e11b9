"""A distribution as a product of factors on a junction tree, for domains that do not fit into memory."""
