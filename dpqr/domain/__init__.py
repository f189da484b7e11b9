"""The public universe of records: attributes, the domain file, predicates, periods."""
