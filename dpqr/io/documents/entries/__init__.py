"""The queries file: each kind of entry, compiled into blocks."""
