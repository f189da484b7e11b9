"""Faults of sources: a requester chooses the table of an engine, or when it is connected."""

from faults.anchored import Anchored, at

FAULTS: tuple[Anchored, ...] = (
    *at(
        "release",
        "resolve_source",
        ("raise BudgetRefused(UNREGISTERED)", "pass", "an engine's table needs no owner"),
        ("raise BudgetRefused(OTHER_TABLE_REFUSED)", "pass", "another address is read as the registered one"),
        ("digest=source_of_owner.digest", "", "a plan does not hold its source"),
    ),
    *at(
        "release",
        "_of_source",
        ("source.digest is not None", "False", "nobody says that the owner vouches"),
    ),
    *at(
        "release",
        "resolve_reading",
        ("() if locked or source.paths else (TABLE_FROM_MEMORY,)", "()", "a table that a caller passes is not noted"),
    ),
    *at(
        "release",
        "checked_plan",
        ("resolve_source(request.source, request.payer)", "request.source", "a release is bound to no source"),
    ),
    *at(
        "sessions",
        "resolve_run",
        ("resolve_source(request.table, request.payer)", "request.table", "predictions are bound to no source"),
    ),
    *at(
        "sessions",
        "plan_session",
        ("resolve_source(request.run.source, request.run.payer)", "request.run.source", "no session is bound"),
    ),
    *at(
        "release",
        "_same_documents",
        ("stated.get('reading', {}).get('source') != request.source.digest", "False", "another source is skipped"),
    ),
    *at(
        "ledger",
        "paid_run",
        (
            "bill.require_fit(ledger, asked.dataset, locked=True)",
            "pass",
            "an engine is connected before approval and balance are looked at",
        ),
        ("locked=True", "", "an engine is connected before the approval is looked at"),
    ),
    *at(
        "release",
        "_options",
        ("held.source.digest", "None", "an approved plan runs on another source"),
    ),
    *at(
        "ledger",
        "POLICY_FORMAT",
        (
            "attribute('source', SOURCE_FORMAT.write, SOURCE_FORMAT.read, unset=None)",
            "RecordPart(lambda _: {}, lambda _: {})",
            "a source is not kept",
        ),
    ),
    *at(
        "ledger",
        "SOURCE_FORMAT",
        ("text_part('query', unset='')", "RecordPart(lambda _: {}, lambda _: {})", "a registered query is not kept"),
    ),
    *at(
        "kernel",
        "Source.digest",
        ("[self.address, self.query]", "[self.query]", "a plan is not bound to its source's place"),
    ),
    *at(
        "kernel",
        "PolicyChange.applied",
        ("None if self.source == FILES else self.source", "self.source", "no source is ended"),
    ),
    *at(
        "tables",
        "check_table",
        ("_Structure(source.engine)", "source.engine", "an engine's own refusal is shown"),
    ),
    *at(
        "tables",
        "constantly",
        ("str(outcome) if str(outcome) in kept else sentence", "str(outcome)", "what an engine raises is shown"),
    ),
)
