"""Accountants: one composition theorem per file; they price events and guard a run, and never see data."""
