"""What anybody may do with published files: verify, reprice, ask again, export, start from."""
