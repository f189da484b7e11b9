"""Text of documents: JSON, YAML and TOML read strictly, with positions, faults and their fixes."""
