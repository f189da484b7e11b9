"""What other programs' files say of a table's columns."""
