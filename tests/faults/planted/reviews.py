"""Faults of reviews: approvals by anybody, plans that may change, checks that pass."""

from faults.fault import planted_in

FAULTS = (
    *planted_in(
        "ledger/state.py",
        (" and compared(each[1]) != asker]", "]", "who asks approves"),
        ("if each[0] == plan and", "if", "an approval of one plan pays for another"),
        ("if not asker or found is None:", "if found is None:", "who asks need not be named"),
        ('if named in ("", compared(each[1]))', "if True", "an approval by somebody else than the one who is named"),
    ),
    *planted_in(
        "ledger/state.py",
        (
            "            held.approvals.remove(held.approval(entry.plan, entry.reason, spelled))\n",
            "            held.approval(entry.plan, entry.reason, spelled)\n",
            "one approval pays for many releases",
        ),
        ("if entry.drawn and not is_digest(entry.drawn):", "if False:", "a settlement names draws by anything"),
    ),
    *planted_in(
        "ledger/chained_ledger.py",
        ("        if not person(reason.by):\n", "        if False:\n", "nobody approves"),
        ("note=note, drawn=drawn)", "note=note)", "the digest of the draws is left out"),
    ),
    *planted_in(
        "ledger/ledger.py",
        (' in "LMN" and', ' in "LMNPZ" and', "a dot makes another name"),
        (" and ord(one) not in IGNORABLE", "", "what is not seen makes another name"),
        (".casefold()).casefold()", ")", "a capital makes another name"),
    ),
    *planted_in(
        "releases/record/parts.py",
        ('("transcript", "dropped",', '("dropped",', "a digest without the transcript"),
        ('"draws", "weights")', '"draws")', "a digest without the weights of a function"),
        ('sorted(record.get("hashes", {}).values())', "[]", "a digest without the file of predictions"),
    ),
    *planted_in(
        "published/checks.py",
        ("if settled.drawn != drawn_digest(record):", "if False:", "two runs of one plan swap their entries"),
        ('if not settled.drawn and is_since(record["version"], BINDING):', "if False:", "an entry that names no draws"),
        ("return paid.plan == followed or (", "return True or (", "the entry paid for another plan"),
    ),
    *planted_in(
        "published/verify.py",
        ("        if not tolerance:\n", "        if False:\n", "what is not repeated here passes"),
        ("        require_regular(Path(request.release))\n", "        pass\n", "a pipe is waited for"),
    ),
    *planted_in(
        "releases/approval.py",
        ("    require_same_notes(", "    (lambda *_: None)(", "notes of the plan may say anything"),
        ("    require_forecast(inputs.locked)\n", "", "a forecast may hold anything"),
    ),
    *planted_in(
        "tables/policy.py",
        ("    if policy.approval and not later.approval:\n", "    if False:\n", "a rule of two persons is taken back"),
    ),
    *planted_in(
        "releases/locked_plan.py",
        ("    if document.get(SEAL) != sealed(document)[SEAL]:\n", "    if False:\n", "an edited plan is followed"),
        (
            "        if found:\n            raise _changed",
            "        if False:\n            raise _changed",
            "a release does otherwise than its plan",
        ),
        ("isclose(old, new, rel_tol=1e-6)", "isclose(old, new, rel_tol=1)", "figures of a plan may be anything"),
    ),
    *planted_in(
        "prediction/predict.py",
        (
            "    if request.locked:\n        require_unchanged(",
            "    if False:\n        require_unchanged(",
            "others predict",
        ),
    ),
    *planted_in(
        "published/prediction_checks.py",
        (
            'if not names_plan(paid, str(evidence.document["plan"].get(SEAL)), evidence.document["version"]):',
            "if False:",
            "the entry paid for another plan",
        ),
    ),
    *planted_in(
        "published/repeat.py",
        ("start.measured != before or ", "", "a process that did not see every surprise"),
        ("start.surprises < before or ", "", "intervals where nothing was compared"),
    ),
    *planted_in(
        "releases/questions.py",
        ("self.surprises[place].query is not query", "False", "another question's noisy answer"),
        ("sides if surprises < self.terms.surprises else ()", "(1, -1)", "intervals where nothing was compared"),
    ),
    *planted_in(
        "published/checks.py",
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
        "published/checks.py",
        ("        if file_hash(evidence.path / name) != digest:\n", "        if False:\n", "a changed file passes"),
        ("    if odd:\n", "    if False:\n", "a file more or less passes"),
        ("if len(set(numbers)) < len(numbers) or ", "if ", "one event pays for two draws"),
        ("if today is not None and today > limit:", "if False:", "draws may cost more than the plan proves"),
        ("    if upward(value) != figure.rounded:\n", "    if False:\n", "any float stands beside an exact figure"),
    ),
    *planted_in(
        "published/checks.py",
        (
            '    if found.near and evidence.document["versions"] == versions_part():\n',
            "    if False:\n",
            "a digit may be changed where the release was made",
        ),
        ("    if sealed(kept) != kept and (", "    if False and (", "a plan under another seal passes"),
    ),
    *planted_in(
        "published/evidence.py",
        (" and sealed(found) != found:\n", " and False:\n", "a record under another seal passes"),
    ),
)
