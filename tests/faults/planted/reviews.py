"""Faults of reviews: approvals by anybody, plans that may change, checks that pass."""

from faults.anchored import Anchored, at

FAULTS: tuple[Anchored, ...] = (
    *at(
        "ledger",
        "AccountState.approval",
        ("each[0] == plan and compared(each[1]) != asker", "each[0] == plan", "who asks approves"),
        (
            "each[0] == plan and compared(each[1]) != asker",
            "compared(each[1]) != asker",
            "an approval of one plan pays for another",
        ),
    ),
    *at(
        "ledger",
        "LedgerState._settle",
        ("entry.drawn and (not is_digest(entry.drawn))", "False", "a settlement names draws by anything"),
    ),
    *at(
        "ledger",
        "ChainedLedger.approve",
        ("not person(reason.by)", "False", "nobody approves"),
    ),
    *at(
        "ledger",
        "ChainedLedger.settle",
        ("drawn=drawn", "", "the digest of the draws is left out"),
    ),
    *at(
        "kernel",
        "person",
        (
            "unicodedata.category(one)[0] in 'LMN'",
            "unicodedata.category(one)[0] in 'LMNPZ'",
            "a dot makes another name",
        ),
        (
            "unicodedata.category(one)[0] in 'LMN' and ord(one) not in IGNORABLE",
            "unicodedata.category(one)[0] in 'LMN'",
            "what is not seen makes another name",
        ),
        (
            "unicodedata.normalize('NFKC', name.casefold()).casefold()",
            "unicodedata.normalize('NFKC', name)",
            "a capital makes another name",
        ),
    ),
    *at(
        "verify",
        "DRAW_KEYS",
        (
            "('transcript', 'dropped', 'errors', 'questions', 'counted', 'factor', 'draws', 'weights')",
            "('dropped', 'errors', 'questions', 'counted', 'factor', 'draws', 'weights')",
            "a digest without the transcript",
        ),
        (
            "('transcript', 'dropped', 'errors', 'questions', 'counted', 'factor', 'draws', 'weights')",
            "('transcript', 'dropped', 'errors', 'questions', 'counted', 'factor', 'draws')",
            "a digest without the weights of a function",
        ),
    ),
    *at(
        "verify",
        "names_plan",
        ("paid.plan == followed", "True", "the entry paid for another plan"),
    ),
    *at(
        "verify",
        "_run_check",
        ("not tolerance", "False", "what is not repeated here passes"),
    ),
    *at(
        "verify",
        "_require_same_words",
        (
            "require_same_notes(inputs.locked, document(replace(plan, inputs=replace(inputs, locked=None))))",
            "(lambda *_: None)(inputs.locked, document(replace(plan, inputs=replace(inputs, locked=None))))",
            "notes of the plan may say anything",
        ),
        ("require_forecast(inputs.locked)", "", "a forecast may hold anything"),
    ),
    *at(
        "verify",
        "require_unchanged",
        (("if found:\n    ..."), ("if False:\n    ..."), "a release does otherwise than its plan"),
    ),
    *at(
        "verify",
        "differences",
        ("rel_tol=1e-06", "rel_tol=1", "figures of a plan may be anything"),
    ),
    *at(
        "sessions",
        "with_reading",
        (("if request.locked:\n    ..."), ("if False:\n    ..."), "others predict"),
    ),
    *at(
        "verify",
        "ledger",
        (
            "not names_plan(paid, str(evidence.document['plan'].get(SEAL)), evidence.document['version'])",
            "False",
            "the entry paid for another plan",
        ),
        (
            "paid.events != planned or not names_plan(paid, _followed(evidence), evidence.record.version)",
            "not names_plan(paid, _followed(evidence), evidence.record.version)",
            "the entry paid for other draws",
        ),
    ),
    *at(
        "verify",
        "_require_order",
        (
            (
                "start.measured != before or start.surprises < before or (not len(start.sides) <= start.epochs <= "
                "epochs)"
            ),
            "start.surprises < before or not len(start.sides) <= start.epochs <= epochs",
            "a process that did not see every surprise",
        ),
        (
            (
                "start.measured != before or start.surprises < before or (not len(start.sides) <= start.epochs <= "
                "epochs)"
            ),
            "start.measured != before or not len(start.sides) <= start.epochs <= epochs",
            "intervals where nothing was compared",
        ),
    ),
    *at(
        "sessions",
        "Replay.answers",
        ("sides if surprises < self.terms.surprises else ()", "(1, -1)", "intervals where nothing was compared"),
    ),
    *at(
        "verify",
        "ledger",
        (
            "paid is None or paid.hash != stated.seal or (paid.kind, paid.dataset) != ('reserve', stated.dataset)",
            "paid is None or (paid.kind, paid.dataset) != ('reserve', stated.dataset)",
            "any entry of that number has paid",
        ),
    ),
    *at(
        "verify",
        "locked_plan",
        ("kept != followed and (not (evidence.of_session and same))", "False", "any plan is the one that was reviewed"),
        (
            (
                "kept[SEAL] == _followed(evidence) and all((kept[part] == followed[part] for part in ('budget', "
                "'events')))"
            ),
            "all((kept[part] == followed[part] for part in ('budget', 'events')))",
            "any plan of the same price is the one of a session",
        ),
    ),
    *at(
        "verify",
        "files",
        (("if odd:\n    ..."), ("if False:\n    ..."), "a file more or less passes"),
    ),
    *at(
        "verify",
        "events",
        (
            "len(set(numbers)) < len(numbers) or any((number >= total for number in numbers))",
            "any((number >= total for number in numbers))",
            "one event pays for two draws",
        ),
    ),
    *at(
        "verify",
        "_here",
        (
            "found.near and evidence.document['versions'] == versions_part()",
            "False",
            "a digit may be changed where the release was made",
        ),
    ),
    *at(
        "verify",
        "plan",
        ("seal_document(kept) != kept", "False", "a plan under another seal passes"),
    ),
    *at(
        "verify",
        "ReleaseEvidence.document",
        ("seal_document(found) != found", "False", "a record under another seal passes"),
    ),
)
