"""What is attacked."""
