"""The files of a release or of a prediction run: written, and read back later."""
