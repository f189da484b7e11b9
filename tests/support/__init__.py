"""What many tests share: made-up tables and releases, jobs that race or are killed, figures by brute force."""
