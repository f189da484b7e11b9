"""Accountants: composition theorems that price events and guard a run; they never see data."""
