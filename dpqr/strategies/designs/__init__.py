"""Designs: the queries to measure, so that the workload is answered from them with the least expected error."""
