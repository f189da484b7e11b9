"""Accountants: one composition theorem a file; they price events and guard a run, and never see data."""
