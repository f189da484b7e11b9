"""Any result for a terminal, a notebook and a browser."""
