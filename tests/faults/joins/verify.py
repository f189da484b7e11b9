"""Faults of verification: a check that looks at a part of what it states, or at nothing."""

from faults.anchored import Anchored, at

_ROOM = "verify"

FAULTS: tuple[Anchored, ...] = (
    *at(
        _ROOM,
        "files",
        (
            "sorted({*stated, *(kept or ()), RECORD}.symmetric_difference(os.listdir(evidence.path)))",
            "sorted({*stated, *(kept or ()), RECORD}.difference(os.listdir(evidence.path)))",
            "files that came are not noticed",
        ),
        (
            "sorted({*stated, *(kept or ()), RECORD}.symmetric_difference(os.listdir(evidence.path)))",
            "sorted(set(os.listdir(evidence.path)).difference({*stated, *(kept or ()), RECORD}))",
            "files that are missing are not noticed",
        ),
        ("file_hash(evidence.path / name) != digest", "False", "changed files are not noticed"),
        (
            "hashlib.sha256(evidence.path.read_bytes()).hexdigest() != stated",
            "False",
            "changed predictions are not noticed",
        ),
    ),
    *at(
        _ROOM,
        "events",
        ("len(set(numbers)) < len(numbers)", "False", "two draws are paid by one event"),
        (
            "any((number >= total for number in numbers))",
            "any((number > total for number in numbers))",
            "a draw is paid by an event beyond the last",
        ),
        ("today is not None and today > limit", "False", "events may cost more than the plan proves"),
        ("charged - planned", "Counter()", "draws that were not planned are charged"),
        (
            "'draws' not in evidence.document and charged != planned",
            "False",
            "a batch states fewer draws than its plan",
        ),
    ),
    *at(
        _ROOM,
        "_charges",
        ("found.dropped.charge", "-1", "the count of dropped rows names no event"),
        ("finished.charges", "finished.charges[:1]", "the first event of a round alone is looked at"),
    ),
    *at(
        _ROOM,
        "_number",
        ("sum((count for _, count in composition))", "len(composition)", "equal events are counted once"),
    ),
    *at(
        _ROOM,
        "_exact",
        ("upward(value) != figure.rounded", "False", "the float beside an exact figure may be any"),
        (
            "upward(value) != figure.rounded",
            "upward(value) < figure.rounded",
            "the float beside an exact figure may be smaller",
        ),
    ),
    *at(
        _ROOM,
        "_require_price",
        ("today < before and (not exactly)", "not exactly", "a price of an older version may be too small"),
        (
            "name != 'basic' and abs(today - before) <= ROUNDING * before",
            "abs(today - before) <= ROUNDING * before",
            "exact sums may be off in the tenth digit",
        ),
        (
            "abs(today - before) <= ROUNDING * before",
            "today - before <= ROUNDING * before",
            "a price may be stated too high",
        ),
    ),
    *at(
        _ROOM,
        "prices",
        ("_exact(charged) > budget.epsilon", "False", "the charged price may be above the guarantee"),
        (
            "charged is None or _exact(charged) > budget.epsilon or proved > budget.epsilon",
            "charged is None or _exact(charged) > budget.epsilon",
            "the plan may prove more than the guarantee",
        ),
        ("_exact(found.spent.delta) != budget.delta", "False", "prices at another delta"),
        ("found.spent.charged != found.plan.accountant", "False", "prices of another accountant"),
        ("not found.guarantee.startswith(budget_words(budget))", "False", "the guarantee may say anything"),
    ),
    *at(
        _ROOM,
        "ledger",
        ("paid.events != planned", "False", "the entry paid for other events"),
        ("paid.reason != recorded_reason(evidence.record)", "False", "the entry was paid for another reason"),
        ("paid.events != evidence.planned", "False", "the entry paid for other draws of predictions"),
        ("reason_part(paid.reason) != asked_for", "False", "the entry was paid for another reason, of predictions"),
        (
            "Counter(dict(evidence.charged)) - Counter(dict(settled.events))",
            "Counter()",
            "predictions were settled at less",
        ),
    ),
    *at(
        _ROOM,
        "ledger",
        ("paid.hash != stated.seal", "False", "an entry of another ledger"),
        (
            "(paid.kind, paid.dataset) != ('reserve', stated.dataset)",
            "paid.kind != 'reserve'",
            "an entry of another dataset",
        ),
    ),
    *at(
        _ROOM,
        "_end",
        ("settled.events not in (drawn, planned)", "False", "the run was settled with other events"),
    ),
    *at(
        _ROOM,
        "locked_plan",
        ("kept != evidence.document['plan']", "False", "predictions by another plan"),
        (
            "all((kept[part] == followed[part] for part in ('budget', 'events')))",
            "True",
            "a session's plan of another budget",
        ),
    ),
    *at(
        _ROOM,
        "_followed",
        (
            "evidence.questions.plan if evidence.questions else str(evidence.record.plan.sha256)",
            "str(evidence.record.plan.sha256)",
            "a session's last plan is taken for its first",
        ),
    ),
    *at(
        _ROOM,
        "draws",
        (
            "same_documents(kept, evidence.made[1]['transcript'], '$.transcript')",
            "same_documents(kept, kept, '$.transcript')",
            "recorded draws are compared with themselves",
        ),
        ("len(values) > counted", "False", "more predictions than draws"),
        ("np.array_equal(scores, values)", "True", "scores are not compared"),
        (
            "np.allclose(np.array(shown, dtype=np.float64), made, rtol=1e-12, atol=0)",
            "np.allclose(np.array(shown, dtype=np.float64), made, rtol=0.1, atol=1)",
            "predicted numbers are compared roughly",
        ),
    ),
    *at(
        _ROOM,
        "statements",
        (
            (
                "same_documents(kept, {name: part for name, part in evidence.made[1].items() if name not in "
                "UNREPEATED_KEYS})"
            ),
            "same_documents({name: kept.get(name) for name in ()}, {})",
            "nothing of the record is compared",
        ),
    ),
    *at(
        _ROOM,
        "UNREPEATED_KEYS",
        ("'date'", "'trust'", "what the record warns of is not compared", 0),
    ),
    *at(
        _ROOM,
        "figures_and_views",
        (
            "(FIGURES_FILE, VIEWS_FILE, f'{CUMULATIVE}.')",
            "(FIGURES_FILE, VIEWS_FILE)",
            "a counter's sums are not made again",
        ),
        (
            "(FIGURES_FILE, VIEWS_FILE, f'{CUMULATIVE}.')",
            "(FIGURES_FILE,)",
            "views and a counter's sums are not made again",
        ),
    ),
    *at(
        _ROOM,
        "_require_same",
        ("made_by == __version__", "False", "a mismatch is put down to another version"),
    ),
    *at(
        _ROOM,
        "ReleaseEvidence.document",
        (
            "any((name in found for name in PROOFS)) and seal_document(found) != found",
            "all((name in found for name in PROOFS)) and seal_document(found) != found",
            "a record without one of its proofs needs no seal",
        ),
        ("require_same_text(found, self.path / RECORD)", "None", "a record may be written in another way"),
    ),
    *at(
        _ROOM,
        "ReleaseEvidence.plan",
        ("note not in notes", "False", "what the plan notes may be left out of the record"),
    ),
    *at(
        _ROOM,
        "ReleaseEvidence._earlier",
        ("period=after.period", "period=''", "the period of the release before is not compared"),
    ),
    *at(
        _ROOM,
        "PredictionEvidence.document",
        ("SEAL in found and seal_document(found) != found", "False", "a record of predictions may be edited"),
    ),
    *at(
        _ROOM,
        "prices",
        (
            "abs(today - Fraction(stated['exact'])) > ROUNDING * today",
            "today - Fraction(stated['exact']) > ROUNDING * today",
            "predictions may state too high a price",
        ),
        (
            "proved is not None and proved > budget.epsilon",
            "False",
            "planned predictions may cost more than the guarantee",
        ),
    ),
    *at(
        _ROOM,
        "_here",
        (
            "evidence.document['versions'] == versions_part()",
            "False",
            "figures within the tolerance are taken on the machine that made them",
        ),
    ),
    *at(
        _ROOM,
        "_require_order",
        ("start.measured != before", "start.measured > before", "a process found fewer noisy answers than were there"),
        ("start.surprises < before", "False", "a process found fewer surprises than were there"),
        ("len(start.sides) <= start.epochs <= epochs", "start.epochs <= epochs", "more thresholds than epochs"),
        (
            "len(start.sides) <= start.epochs <= epochs",
            "len(start.sides) <= start.epochs",
            "more epochs than were charged",
        ),
    ),
    *at(
        _ROOM,
        "_differences",
        ("(*kept, *made)", "(*made,)", "keys that the record has beside are not compared"),
        ("path.startswith(ROUGH)", "True", "every figure has a wide tolerance"),
    ),
    *at(
        _ROOM,
        "same_rows",
        ("~_equal(old[name], new[name])", "~_equal(old[name], old[name])", "rows are compared with themselves"),
    ),
    *at(
        _ROOM,
        "_allowed",
        (
            "np.fmax(figures[ERROR], noise)",
            "np.fmax(figures[ERROR], 1000 * noise)",
            "estimates have a thousandfold tolerance",
        ),
        ("np.fmax(1, figures[name])", "np.fmax(1000, figures[name])", "closed forms have a thousandfold tolerance"),
    ),
    *at(
        _ROOM,
        "_both",
        (
            "old.schema.names != new.schema.names or len(old) != len(new)",
            "len(old) != len(new)",
            "columns are not compared",
        ),
    ),
    *at(
        _ROOM,
        "read_plan",
        ("document.get(SEAL) != seal_document(document)[SEAL]", "False", "an edited plan is followed"),
    ),
    *at(
        _ROOM,
        "require_unchanged",
        ("name in UNCOMPARED_KEYS", "name in (*UNCOMPARED_KEYS, 'events')", "events of a locked plan are not compared"),
        (
            "name in UNCOMPARED_KEYS",
            "name in (*UNCOMPARED_KEYS, 'budget')",
            "the budget of a locked plan is not compared",
        ),
        (
            "name in UNCOMPARED_KEYS",
            "name in (*UNCOMPARED_KEYS, 'request')",
            "the request of a locked plan is not compared",
        ),
    ),
    *at(
        _ROOM,
        "differences",
        (
            "zip_longest(old, new, fillvalue=_ABSENT)",
            "zip(old, new, strict=False)",
            "a list that goes on is no difference",
        ),
        ("(*old, *new)", "(*old,)", "keys that came are no difference"),
        ("isclose(old, new, rel_tol=1e-06)", "isclose(old, new, rel_tol=0.1)", "floats of a plan are compared roughly"),
    ),
    *at(
        _ROOM,
        "approve",
        ("str(document[SEAL])", "str(document[SEAL])[:63] + '0'", "another plan is approved"),
    ),
    *at(
        _ROOM,
        "_same",
        ("found.near", "False", "figures within the tolerance alone are a success"),
    ),
    *at(
        _ROOM,
        "require_bound",
        ("settled.drawn != draws_digest(record)", "False", "two releases by one plan swap their entries"),
        (
            "not settled.drawn and is_since(record['version'], BINDING)",
            "False",
            "an entry that names no draws is taken",
        ),
    ),
    *at(
        _ROOM,
        "draws_digest",
        ("name in record", "name in record and name != 'errors'", "errors that were drawn are not bound"),
        ("sorted(record.get('hashes', {}).values())", "[]", "predictions of a batch are not bound"),
    ),
    *at(
        _ROOM,
        "names_plan",
        (
            "paid.plan == followed or (not paid.plan and (not is_since(version, PLANNED)))",
            "paid.plan in ('', followed)",
            "an entry that names no plan is taken",
        ),
        ("paid.plan == followed", "paid.plan[:8] == followed[:8]", "plans are compared by eight digits"),
    ),
    *at(
        _ROOM,
        "_require_charged",
        ("kept != stated.charged", "False", "the record may say that the ledger keeps less"),
    ),
)
