"""The files of a release: written whole or not at all, and read back."""
