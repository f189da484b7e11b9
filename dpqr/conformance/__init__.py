"""Conformance: what a third party's strategy is asked on tiny universes. `dpqr.testing` is its door."""
