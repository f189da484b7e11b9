"""dpqr: differentially private release of linear queries from the Iterative Construction."""

__version__ = "0.2.0"
