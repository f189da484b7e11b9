"""Faults of the ledger's transactions: open runs, proofs, records, refusals, states, and where the file lies."""

from faults.fault import planted_in

FAULTS = (
    *planted_in(
        "io/ledger/account_state.py",
        ("if event is None or count != 1 or others:", "if event is None:", "one entry begins many draws"),
        ("        self._require(entry, recorded=self.begun)\n", "", "a draw is begun twice"),
        ("if self.begun and entry.transcript != self.transcript:", "if False:", "a draw goes on from any transcript"),
        ("        self._require(entry, recorded=self.begun - 1)\n", "", "a draw is recorded twice"),
        ("        if number != self.recorded:", "        if False:", "the draw's number is not compared"),
        ("        if number != self.recorded:", "        if number < self.recorded:", "a later draw may be begun"),
        ("            self.guard.charge(event)\n", "            pass\n", "draws are not held against what was paid"),
        ("        self.draws.append(event)\n", "", "draws that were begun are forgotten"),
        (
            "lost=self.last if self.begun > self.recorded else None",
            "lost=None",
            "a draw that was begun is not lost, and is made again",
        ),
        (
            "return self.currency.settled(self.paid.cost, events, self.paid.pricing or PURE)",
            "return self.currency.settled(self.paid.cost, events, PURE)",
            "every run is settled as a pure sum",
        ),
        ("or not _DIGEST.fullmatch(entry.transcript):", "or False:", "any text is a running hash"),
    ),
    *planted_in(
        "io/ledger/location.py",
        ("    if status.st_nlink > 1:", "    if False:", "two names of one ledger"),
        ("    if stat.S_ISLNK(status.st_mode):", "    if False:", "a ledger behind a link"),
        ("        sync_directory(path.parent)\n", "", "a new ledger's name is not synced"),
        (", 0), 0o600))", ", 0), 0o644))", "anybody may read a ledger"),
        (
            "            if not stat.S_ISREG(os.lstat(beside).st_mode):",
            "            if False:",
            "a pipe in the journal's place",
        ),
    ),
    *planted_in(
        "io/ledger/entry_codec.py",
        ("if policy_document(policy) != document:", "if False:", "unknown parts of a policy are dropped"),
        ('"bytes": policy.bytes,', '"bytes": policy.records,', "the limit of bytes is written as another one"),
        ('fail=document["fail"],', "fail=True,", "a rule fail is allowed to all"),
    ),
    *planted_in(
        "io/ledger/record.py",
        (
            "        if encode_entry(entry) != link.text:",
            "        if False:",
            "an entry may say more than is read from it",
        ),
        ("        elif not _paid(record, entry):", "        elif False:", "prices are not derived again"),
        (
            "return entry.terms.currency.covers(entry.terms.budget, entry.terms.limit)",
            "return True",
            "a limit above its budget",
        ),
        (
            "return currency.proves(entry.cost, currency.settled(",
            "return True or currency.proves(entry.cost, currency.settled(",
            "settlements are not derived again",
        ),
        (
            "    except DpqrError:\n        return False",
            "    except DpqrError:\n        return True",
            "a price that nobody derives is proved",
        ),
        ("            unproved.append(entry.number)\n", "            pass\n", "what was not proved is not told"),
    ),
    *planted_in(
        "io/ledger/record.py",
        ("        anchor.check(chain, marked)\n", "        pass\n", "the anchor is not compared with the chain"),
        (
            "for event, count in beside_other_runs(events):",
            "for event, count in events:",
            "left-out draws are merged across runs",
        ),
        (
            "            total[event] += count\n",
            "            total[event] = count\n",
            "draws of several runs replace each other",
        ),
        (
            "                charged[entry.settles] = charged[entry.settles][0], entry.events",
            "                charged[entry.number] = charged[entry.settles][0], entry.events",
            "a run counts as reserved and as settled",
        ),
        ("        _require_state(session, state)\n", "        pass\n", "a state that was edited is not noticed"),
    ),
    *planted_in(
        "io/ledger/refusals.py",
        ("    if unit.neighbours is not terms.neighbours:", "    if False:", "runs of other neighbours add up"),
        ("    if unit.whom != terms.unit:", "    if False:", "runs for other units add up"),
        ("    if policy != terms.policy:", "    if False:", "a run under an older policy is paid"),
        (
            "figures(account.terms.limit, downward_text)",
            "figures(account.left, downward_text)",
            "a refusal states another limit",
        ),
    ),
    *planted_in(
        "io/ledger/asked.py",
        ("        require_unit(terms, self.unit)\n", "", "a reservation looks at no unit"),
        ("        require_policy(terms, self.policy)\n", "", "a reservation looks at no policy"),
    ),
    *planted_in(
        "io/ledger/addresses.py",
        ('holds_credentials(f"//{netloc}")\n', "False\n", "an address may hold a password"),
        ("or any(map(_SECRET.search, options))", "", "a password may stand among an address' options"),
        ('or "@" in path', "", "a password with a slash stands in a database's name"),
    ),
    *planted_in(
        "io/ledger/move.py",
        ('            transaction.add("move", note=place)\n', "            pass\n", "a moved ledger stays open"),
        ('        if state.moved not in ("", place):', "        if False:", "a ledger is moved to two places"),
        ("    if not left or held", "    if held", "a live copy is taken over"),
    ),
    *planted_in(
        "io/ledger/chained_ledger.py",
        ("            transaction.session.erase_key(number)\n", "", "a settled run keeps its key"),
        (
            "store_key(paid.number, _words(4))",
            "store_key(paid.number, bytes(32))",
            "all runs have one key",
        ),
        (
            "            transaction.state.unsettled(reservation.number).require_next(number)\n            paid = ",
            "            paid = ",
            "a draw is begun under any number",
        ),
        (
            "            transaction.state.unsettled(reservation.number).require_next(number)\n"
            '            transaction.add("record"',
            '            transaction.add("record"',
            "a draw is recorded under any number",
        ),
        (
            "if transaction.state.unsettled(reservation.number).paid.hash != reservation.receipt:",
            "if False:",
            "another ledger's run is taken",
        ),
        (
            'if paid is None or (paid.kind, paid.dataset, paid.hash) != ("reserve", dataset, receipt):',
            "if paid is None:",
            "a transcript of another ledger finds a run",
        ),
        ("            session.require_integrity()\n", "", "SQLite's own structures are not looked at"),
        ("            session.require_keys([", "            list([", "keys are not compared with what waits"),
        (
            "        return replace(record, unproved=require_proofs(record))",
            "        return record",
            "verify proves no price",
        ),
        ("            require_proofs(record)\n", "", "an anchor is renewed over forged prices"),
        ("self.anchor if self.anchor.read() else None)", "None)", "an anchor that disagrees is written anew"),
        ("if state.anchored and not self.anchor and not self.unanchored:", "if False:", "the anchor may be left out"),
        ("if self.anchor and (marked := self.anchor.read()):", "if False:", "a ledger that was removed begins anew"),
        (
            "            made.finish(self.anchor)\n        self",
            "            made.finish(None)\n        self",
            "the anchor is not renewed",
        ),
    ),
    *planted_in(
        "io/ledger/account_state.py",
        (
            "pending=self.terms.total(waiting, [node for node in self.nodes if node.entry in self.runs]),",
            "pending=NO_COST,",
            "what waits is not told",
        ),
    ),
    *planted_in(
        "io/ledger/state_codec.py",
        (
            "        for _ in range(count):\n            run.charge(event)",
            "        if count:\n            run.charge(event)",
            "a state holds repeated draws once",
        ),
        (
            '"spent": sum_document(held.spent.get(WHOLE, NO_COST))',
            '"spent": sum_document(NO_COST)',
            "a state forgets what was spent",
        ),
        ("        if encode_state(state) != text:", "        if False:", "a state has several texts"),
        (
            '"runs": [_run_document(run) for run in held.runs.values()]',
            '"runs": []',
            "a state forgets the runs that wait",
        ),
        (
            "    run.recorded, run.transcript = document",
            "    _, run.transcript = document",
            "a state forgets how far a run came",
        ),
        ("    run.last = last[0][0] if last else None\n", "", "a state forgets the draw that was begun"),
        (
            "    if run.paid.pricing is None:\n        return run.events",
            "    if True:\n        return run.events",
            "a state forgets the order of draws",
        ),
    ),
    *planted_in(
        "io/ledger/transaction.py",
        (
            "            anchor.draft(mark)\n        self.session.commit(mark)\n",
            "            pass\n        self.session.commit(mark)\n        if anchor:\n            anchor.draft(mark)\n",
            "the anchor's draft comes after the commit",
        ),
        ("        self.session.commit(mark)\n", "", "nothing is committed"),
        (
            "        self.session.commit(mark)\n        if anchor:\n            anchor.publish(mark)\n",
            "        if anchor:\n            anchor.publish(mark)\n        self.session.commit(mark)\n",
            "the anchor goes ahead of the ledger",
        ),
        (
            "and session.stored_seal(last.length) == last.seal\n",
            "\n",
            "a kept book is used for another ledger",
        ),
        (
            "if state is None or (marked and marked.entries < state.length):",
            "if state is None:",
            "an anchor before the checkpoint proves nothing, and nothing is walked",
        ),
        ("        anchor.check(chain, marked)\n", "        pass\n", "a writer does not look at the anchor"),
        (
            'if state is not last and not (entries and entries[0].kind == "checkpoint"):',
            "if False:",
            "a state without its checkpoint is taken",
        ),
        (
            "        taken, self.state = self.state, None\n",
            "        taken = self.state\n",
            "a state that ran ahead of the file is kept",
        ),
        (
            "        self.state.add(entry)\n",
            "        self.state.length, self.state.seal = entry.number + 1, entry.hash\n",
            "entries are stored without the rules of the book",
        ),
    ),
)
