"""Update rules: how a hypothesis is refitted."""
