"""`python -m dpqr`."""

from dpqr.cli.main import main

main()
