"""Faults of sources: a requester chooses the table of an engine, or when it is connected."""

from faults.fault import planted_in

FAULTS = (
    *planted_in(
        "releases/reading.py",
        ("            raise BudgetRefused(UNREGISTERED)\n", "            pass\n", "an engine's table needs no owner"),
        ("        raise BudgetRefused(OTHER)\n", "        pass\n", "another address is read as the registered one"),
        ("if source.named and not (len(source.paths) == 1 and", "if not (len(source.paths) == 1 and", "DATA is needed"),
        (", digest=source_of_owner.digest", "", "a plan does not hold its source"),
        ("    if source.digest is not None:\n", "    if False:\n", "nobody says that the owner vouches"),
        ("return () if source.paths else (PASSED,)", "return ()", "a table that a caller passes is not noted"),
    ),
    *planted_in(
        "releases/release.py",
        ("source=bound(request.source, request.payer)", "source=request.source", "a release is bound to no source"),
    ),
    *planted_in(
        "prediction/predict.py",
        ("table=bound(request.table, request.payer)", "table=request.table", "predictions are bound to no source"),
    ),
    *planted_in(
        "sessions/planning.py",
        (
            "source=bound(request.run.source, request.run.payer)",
            "source=request.run.source",
            "no session is bound",
        ),
    ),
    *planted_in(
        "releases/release.py",
        (
            'stated.get("reading", {}).get("source") != request.source.digest',
            "False",
            "another source is skipped",
        ),
    ),
    *planted_in(
        "releases/paying.py",
        (
            "            bill.require_fit(ledger, asked.dataset, locked=True)\n        ready()\n",
            "            pass\n        ready()\n",
            "an engine is connected before approval and balance are looked at",
        ),
        (
            "            bill.require_fit(ledger, asked.dataset, locked=True)\n        ready()\n",
            "            bill.require_fit(ledger, asked.dataset)\n        ready()\n",
            "an engine is connected before the approval is looked at",
        ),
    ),
    *planted_in(
        "releases/reading.py",
        ('"source": held.source.digest', '"source": None', "an approved plan runs on another source"),
    ),
    *planted_in(
        "ledger/codec.py",
        ('{} if policy.source is None else {"source": _source_document(policy.source)}', "{}", "a source is not kept"),
        ('**({"query": source.query} if source.query else {})', "", "a registered query is not kept"),
    ),
    *planted_in(
        "tables/policy.py",
        ("[self.address, self.query]", "[self.query]", "a plan is not bound to its source's place"),
        ("else None if self.source == FILES else self.source", "else self.source", "no source is ended"),
    ),
    *planted_in(
        "tables/structure.py",
        ("check_frame(_Structure(source.engine)", "check_frame(source.engine", "an engine's own refusal is shown"),
    ),
    *planted_in(
        "tables/load.py",
        ("refused_after(engine), COUNTING)", "refused_after(engine))", "a stated limit is no sentence of its own"),
    ),
    *planted_in(
        "tables/limits.py",
        ("str(outcome) if str(outcome) in kept else sentence", "str(outcome)", "what an engine raises is shown"),
    ),
)
