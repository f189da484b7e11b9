"""The domain file: its columns, levels and public facts."""
