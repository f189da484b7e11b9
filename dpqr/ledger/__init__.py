"""Budgets for the life of a dataset, shared by concurrent jobs.

Other rooms import these modules, and no others:

    budgets         open a budget, look at it, walk its ledger
    chain           the hash chain of entries, and the anchor
    chained_ledger  the ledger: reserve, draw, settle, move
    codec           entries and events as canonical JSON, and back
    ledger          accounts, entries, terms, reservations, reasons
    location        where a ledger lies, and which places are refused
    periods         budgets of periods, and layers of counters
    record          the whole ledger read and proved; exported and read again
    refusals        what a ledger refuses, and why
    store           where a ledger lies: one transaction at its tables; the store in an SQLite file
    state           the state of all budgets, replayed from the entries

Inside:

    postgres  a ledger in PostgreSQL
"""
