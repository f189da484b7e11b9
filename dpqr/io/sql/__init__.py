"""SQL in: statements translated to the entries of a queries document. No figure is computed here."""
