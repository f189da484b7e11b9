"""Audit: attack the installed build on neighbouring databases, and compare what is lost with what is claimed."""
