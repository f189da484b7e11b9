"""`python -m dpqr`."""

from dpqr.cli.main import run

run()
