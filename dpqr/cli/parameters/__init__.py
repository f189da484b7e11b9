"""What commands take: options and groups of options, each as one typed object, and their defaults from dpqr.toml."""
