"""Faults of reviews: approvals by anybody, plans that may change, checks that pass."""

from faults.fault import planted_in

FAULTS = (
    *planted_in(
        "io/ledger/account_state.py",
        (" and folded(each[1]) != asker]", "]", "who asks approves"),
        ("if each[0] == plan and", "if", "an approval of one plan pays for another"),
        ("if not asker or found is None:", "if found is None:", "who asks need not be named"),
        ('if named in ("", folded(each[1]))', "if True", "an approval by somebody else than the one who is named"),
    ),
    *planted_in(
        "io/ledger/ledger_state.py",
        (
            "            held.approvals.remove(held.approval(entry.plan, entry.reason))\n",
            "            held.approval(entry.plan, entry.reason)\n",
            "one approval pays for many releases",
        ),
        ("if not folded(entry.reason.by):", "if False:", "nobody approves"),
    ),
    *planted_in(
        "privacy/policy.py",
        ("    if policy.approval and not later.approval:\n", "    if False:\n", "a rule of two persons is taken back"),
    ),
    *planted_in(
        "app/releasing/locked_plan.py",
        ("    if document.get(SEAL) != sealed(document)[SEAL]:\n", "    if False:\n", "an edited plan is followed"),
        (
            "        if found:\n            raise _changed",
            "        if False:\n            raise _changed",
            "a release does otherwise than its plan",
        ),
        ("isclose(old, new, rel_tol=1e-6)", "isclose(old, new, rel_tol=1)", "figures of a plan may be anything"),
    ),
    *planted_in(
        "app/predicting/predict.py",
        (
            "    if request.locked:\n        require_unchanged(",
            "    if False:\n        require_unchanged(",
            "others predict",
        ),
    ),
    *planted_in(
        "app/verifying/checks_of_predictions.py",
        (
            'if paid.plan not in ("", evidence.document["plan"].get(SEAL)):',
            "if False:",
            "the entry paid for another plan",
        ),
    ),
    *planted_in(
        "app/verifying/repeat_session.py",
        ("start.measured != before or ", "", "a process that did not see every surprise"),
        ("start.surprises < before or ", "", "intervals where nothing was compared"),
    ),
    *planted_in(
        "construction/questions/replay.py",
        ("self.surprises[place].query is not query", "False", "another question's noisy answer"),
        ("sides if surprises < self.terms.surprises else ()", "(1, -1)", "intervals where nothing was compared"),
    ),
    *planted_in(
        "app/verifying/checks_of_ledger.py",
        ("paid.hash != stated.seal or ", "", "any entry of that number has paid"),
        ("if paid.events != planned or ", "if ", "the entry paid for other draws"),
        (
            "    if paid.reason != stated_reason(evidence.record):\n",
            "    if False:\n",
            "names are anybody's",
        ),
        (
            "    if settled.events not in (drawn, planned):\n",
            "    if False:\n",
            "a settlement of other draws than the record's",
        ),
        (
            "    if kept != followed and not (evidence.of_session and same):\n",
            "    if False:\n",
            "any plan is the one that was reviewed",
        ),
        ("kept[SEAL] == _followed(evidence) and ", "", "any plan of the same price is the one of a session"),
    ),
    *planted_in(
        "app/verifying/checks_of_record.py",
        ("        if file_hash(evidence.path / name) != digest:\n", "        if False:\n", "a changed file passes"),
        ("    if odd:\n", "    if False:\n", "a file more or less passes"),
        ("if len(set(numbers)) < len(numbers) or ", "if ", "one event pays for two draws"),
        ("if today is not None and today > limit:", "if False:", "draws may cost more than the plan proves"),
        ("    if upward(value) != figure.rounded:\n", "    if False:\n", "any float stands beside an exact figure"),
    ),
    *planted_in(
        "app/verifying/checks_of_draws.py",
        (
            '    if found.near and evidence.document["versions"] == versions_part():\n',
            "    if False:\n",
            "a digit may be changed where the release was made",
        ),
        (" and sealed(kept) != kept:\n", " and False:\n", "a plan under another seal passes"),
    ),
    *planted_in(
        "app/verifying/evidence.py",
        (" and sealed(found) != found:\n", " and False:\n", "a record under another seal passes"),
    ),
)
