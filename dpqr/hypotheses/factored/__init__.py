"""A distribution as a product of factors on a junction tree, for domains that fit no memory."""
