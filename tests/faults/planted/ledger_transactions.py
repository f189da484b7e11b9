"""Faults of the ledger's transactions: open runs, proofs, records, refusals, states, and where the file lies."""

from faults.anchored import Anchored, at, quoted_at

_ROOM = "ledger"

FAULTS: tuple[Anchored, ...] = (
    *at(
        _ROOM,
        "OpenRun.begin",
        ("event is None or count != 1 or others", "event is None", "one entry begins many draws"),
        ("self._require(entry, recorded=self.begun)", "", "a draw is begun twice"),
        ("self.begun and entry.transcript != self.transcript", "False", "a draw goes on from any transcript"),
    ),
    *at(
        _ROOM,
        "OpenRun.record",
        ("self._require(entry, recorded=self.begun - 1)", "", "a draw is recorded twice"),
    ),
    *at(
        _ROOM,
        "OpenRun.require_next",
        ("number != self.recorded", "False", "the draw's number is not compared"),
        ("number != self.recorded", "number < self.recorded", "a later draw may be begun"),
    ),
    *at(
        _ROOM,
        "OpenRun.charge",
        ("self.guard.charge(event)", "pass", "draws are not held against what was paid"),
        ("self.draws.append(event)", "", "draws that were begun are forgotten"),
    ),
    *at(
        _ROOM,
        "OpenRun.public",
        (
            "self.last if self.begun > self.recorded else None",
            "None",
            "a draw that was begun is not lost, and is made again",
        ),
    ),
    *at(
        _ROOM,
        "OpenRun.settled",
        ("self.paid.pricing or PURE", "PURE", "every run is settled as a pure sum"),
    ),
    *at(
        _ROOM,
        "OpenRun._require",
        ("not _DIGEST.fullmatch(entry.transcript)", "False", "any text is a running hash"),
    ),
    *at(
        _ROOM,
        "require_location",
        ("status.st_nlink > 1", "False", "two names of one ledger"),
        ("stat.S_ISLNK(status.st_mode)", "False", "a ledger behind a link"),
    ),
    *at(
        _ROOM,
        "create",
        ("sync_directory(path.parent)", "", "a new ledger's name is not synced"),
        (
            "os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, 'O_NOFOLLOW', 0), 384)",
            "os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, 'O_NOFOLLOW', 0), 420)",
            "anybody may read a ledger",
        ),
    ),
    *at(
        _ROOM,
        "require_location",
        ("not stat.S_ISREG(os.lstat(beside).st_mode)", "False", "a pipe in the journal's place"),
    ),
    *at(
        _ROOM,
        "decode_policy",
        ("POLICY_FORMAT.write(policy) != document", "False", "unknown parts of a policy are dropped"),
    ),
    *at(
        _ROOM,
        "POLICY_FORMAT",
        (
            "attribute('bytes')",
            "RecordPart(lambda policy: {'bytes': policy.records}, lambda text: {'bytes': text['bytes']})",
            "the limit of bytes is written as another one",
        ),
        ("attribute('fail', read=_flag)", "attribute('fail', read=lambda _: True)", "a rule fail is allowed to all"),
    ),
    *at(
        _ROOM,
        "require_proofs",
        ("not _paid(record, entry)", "False", "prices are not derived again"),
        ("unproved.append(entry.number)", "pass", "what was not proved is not told"),
    ),
    *at(
        _ROOM,
        "_paid",
        (
            "currency.proves(entry.cost, currency.settled(paid.cost, entry.events, paid.pricing or PURE))",
            "True or currency.proves(entry.cost, currency.settled(paid.cost, entry.events, paid.pricing or PURE))",
            "settlements are not derived again",
        ),
        ("return False", "return True", "a price that nobody derives is proved"),
    ),
    *at(
        _ROOM,
        "walk_ledger",
        ("anchor.check(chain, marked)", "pass", "the anchor is not compared with the chain"),
        ("_require_state(session, state)", "pass", "a state that was edited is not noticed"),
    ),
    *at(
        _ROOM,
        "_sum",
        ("bound_across_runs(events)", "events", "left-out draws are merged across runs"),
        ("total[event] += count", "total[event] = count", "draws of several runs replace each other"),
    ),
    *at(
        _ROOM,
        "Record._charged",
        (
            "charged[entry.settles] = (charged[entry.settles][0], entry.events)",
            "charged[entry.number] = (charged[entry.settles][0], entry.events)",
            "a run counts as reserved and as settled",
        ),
    ),
    *at(
        _ROOM,
        "require_unit",
        ("unit.neighbours is not terms.neighbours", "False", "runs of other neighbours add up"),
    ),
    *at(
        _ROOM,
        "require_policy",
        ("policy != terms.policy", "False", "a run under an older policy is paid"),
    ),
    *at(
        _ROOM,
        "Charge.content",
        ("require_unit(terms, self.unit)", "", "a reservation looks at no unit"),
        ("require_policy(terms, self.policy)", "", "a reservation looks at no policy"),
    ),
    *at(
        _ROOM,
        "require_no_password",
        ("holds_credentials(f'//{netloc}')", "False", "an address may hold a password"),
        (
            (
                "holds_credentials(f'//{netloc}') or '@' in user or '@' in path or any(map(_SECRET.search, options)) "
                "or not all(map(_PORTS.fullmatch, ports))"
            ),
            "holds_credentials(f'//{netloc}') or '@' in user or '@' in path or not all(map(_PORTS.fullmatch, ports))",
            "a password may stand among an address' options",
        ),
        (
            (
                "holds_credentials(f'//{netloc}') or '@' in user or '@' in path or any(map(_SECRET.search, options)) "
                "or not all(map(_PORTS.fullmatch, ports))"
            ),
            (
                "holds_credentials(f'//{netloc}') or '@' in user or any(map(_SECRET.search, options)) "
                "or not all(map(_PORTS.fullmatch, ports))"
            ),
            "a password with a slash stands in a database's name",
        ),
    ),
    *at(
        _ROOM,
        "move",
        ("closing.add('move', note=place)", "pass", "a moved ledger stays open"),
        ("closing.state.moved not in ('', place)", "False", "a ledger is moved to two places"),
    ),
    *at(
        _ROOM,
        "move",
        (
            "not left or held.chain.links[:both] != moving.chain.links[:both]",
            "held.chain.links[:both] != moving.chain.links[:both]",
            "a live copy is taken over",
        ),
    ),
    *at(
        _ROOM,
        "ChainedLedger.reserve",
        ("_words(4)", "bytes(32)", "all runs have one key"),
    ),
    *at(
        _ROOM,
        "ChainedLedger.run",
        ("number in runs and (not is_paid(record, paid))", "False", "a run goes on that was paid below its price"),
        (
            "paid is None or (paid.kind, paid.dataset, paid.hash) != ('reserve', dataset, receipt)",
            "paid is None",
            "a transcript of another ledger finds a run",
        ),
    ),
    *at(
        _ROOM,
        "ChainedLedger.reject",
        ("session.keep_keys(record.state.waiting)", "", "keys of what was rejected stay"),
    ),
    *at(
        _ROOM,
        "ChainedLedger.begin",
        (
            "transaction.state.unsettled(reservation.number).require_next(number)",
            "",
            "a draw is begun under any number",
        ),
    ),
    *at(
        _ROOM,
        "ChainedLedger.record",
        (
            "transaction.state.unsettled(reservation.number).require_next(number)",
            "",
            "a draw is recorded under any number",
        ),
    ),
    *at(
        _ROOM,
        "ChainedLedger._run_transaction",
        (
            "transaction.state.unsettled(reservation.number).paid.hash != reservation.receipt",
            "False",
            "another ledger's run is taken",
        ),
    ),
    *at(
        _ROOM,
        "ChainedLedger.verify",
        ("session.require_integrity()", "", "SQLite's own structures are not looked at"),
        (
            "session.require_keys(record.state.waiting, spoilt=bool(record.chain.rejected))",
            "",
            "keys are not compared with what waits",
        ),
        ("replace(record, unproved=require_proofs(record))", "record", "verify proves no price"),
    ),
    *at(
        _ROOM,
        "ChainedLedger.renew_anchor",
        ("require_proofs(record)", "", "an anchor is renewed over forged prices"),
        ("self.anchor if self.anchor.read() else None", "None", "an anchor that disagrees is written anew"),
    ),
    *at(
        _ROOM,
        "ChainedLedger._require_anchor",
        ("state.anchored and (not self.anchor) and (not self.unanchored)", "False", "the anchor may be left out"),
    ),
    *at(
        _ROOM,
        "ChainedLedger._require_new",
        ("self.anchor and (marked := self.anchor.read())", "False", "a ledger that was removed begins anew"),
    ),
    *at(
        _ROOM,
        "ChainedLedger.transaction",
        ("made.finish(self.anchor)", "made.finish(None)", "the anchor is not renewed"),
    ),
    *at(
        _ROOM,
        "AccountState.account",
        (
            "self.terms.total(waiting, [node for node in self.nodes if node.entry in self.runs])",
            "NO_COST",
            "what waits is not told",
        ),
    ),
    *at(
        _ROOM,
        "_run",
        ("for _ in range(count): ...", "if count: ...", "a state holds repeated draws once"),
        ("run.recorded", "_", "a state forgets how far a run came"),
        ("run.last = last[0][0] if last else None", "", "a state forgets the draw that was begun"),
    ),
    *at(
        _ROOM,
        "_account_document",
        ("held.spent.get(ALL_PERIODS, NO_COST)", "NO_COST", "a state forgets what was spent"),
        ("[_run_document(run) for run in held.runs.values()]", "[]", "a state forgets the runs that wait"),
    ),
    *at(
        _ROOM,
        "decode_state",
        ("encode_state(state) != text", "False", "a state has several texts"),
    ),
    *at(
        _ROOM,
        "_run_document",
        ("run.paid.pricing is None", "True", "a state forgets the order of draws"),
    ),
    *at(
        _ROOM,
        "Transaction.finish",
        (
            ("if anchor:\n    anchor.draft(mark)\nself.session.commit(mark)"),
            ("self.session.commit(mark)\nif anchor:\n    anchor.draft(mark)"),
            "the anchor's draft comes after the commit",
        ),
        ("self.session.commit(mark)", "", "nothing is committed"),
        (
            ("self.session.commit(mark)\nif anchor:\n    anchor.publish(mark)"),
            ("if anchor:\n    anchor.publish(mark)\nself.session.commit(mark)"),
            "the anchor goes ahead of the ledger",
        ),
    ),
    *at(
        _ROOM,
        "resume_state",
        (
            "last and (not last.moved) and (session.stored_seal(last.length) == last.seal)",
            "last and (not last.moved)",
            "a kept book is used for another ledger",
        ),
        (
            ("if state is not last:\n    ..."),
            "",
            "an anchor before the checkpoint proves nothing, and nothing is walked",
        ),
        (
            "marked.entries <= first",
            "marked.entries < first",
            "an anchor that ends before the checkpoint's entry proves its state",
        ),
        ("anchor.check(chain, marked)", "pass", "a writer does not look at the anchor"),
        (
            "state is not last and (not (entries and entries[0].kind == 'checkpoint'))",
            "False",
            "a state without its checkpoint is taken",
        ),
    ),
    *at(
        _ROOM,
        "Transaction.checkpoint",
        (
            "self.state.length - newest >= enough and (not self.state.moved) and self.session.owns",
            "self.state.length - newest >= enough and (not self.state.moved)",
            "a job tries to store a state",
        ),
    ),
    *at(
        _ROOM,
        "_checkpointed",
        (
            "stored is None or stored[1] == ''",
            "stored is None",
            "a state of which nobody knows who wrote it stops all jobs",
        ),
    ),
    *at(
        _ROOM,
        "LastState.take",
        ("taken, self.state = (self.state, None)", "taken = self.state", "a state that ran ahead of the file is kept"),
    ),
    *at(
        _ROOM,
        "Transaction.add",
        (
            "self.state.add(entry)",
            "self.state.length, self.state.seal = (entry.number + 1, entry.hash)",
            "entries are stored without the rules of the book",
        ),
    ),
    *quoted_at(
        _ROOM,
        "_SAFE",
        (" SET search_path = pg_catalog, pg_temp", "", "the functions look where their caller says"),
    ),
    *quoted_at(
        _ROOM,
        "APPEND",
        ("(new_number = newest.number + 1) IS NOT TRUE", "false", "an entry has any number"),
        ("(new_number = newest.number + 1) IS NOT TRUE", "new_number <> newest.number + 1", "no number is any number"),
        ("kind IN ('reserve', 'draw', 'record', 'settle') AND ", "", "a job appends entries of any kind"),
        (
            "kind IN ('reserve', 'draw', 'record', 'settle')",
            "kind IN ('reserve', 'draw', 'record', 'settle', 'checkpoint')",
            "a job appends checkpoints",
        ),
        (" AND newest.kind <> 'move') IS NOT TRUE", ") IS NOT TRUE", "a job appends to a ledger that was moved"),
        ("count(*) = count(DISTINCT field.name)", "count(*) > 0", "a field may stand there twice"),
        ("        AND content ->> 'number' = new_number::text\n", "", "an entry states another number"),
        ("        AND json_typeof(content -> 'number') = 'number'\n", "", "a number may be a text"),
        (
            (
                "        AND new_seal = encode(sha256(convert_to(newest.seal || chr(10) || new_entry, 'UTF8')), "
                "'hex')) IS"
            ),
            ") IS",
            "an entry has any seal",
        ),
        ("newest.seal || chr(10) || new_entry", "'' || chr(10) || new_entry", "a seal follows from nothing"),
        ("FOR 8) = substring(new_key FROM 33)", "FOR 8) IS NOT NULL", "a key may be damaged from the start"),
        (
            "paid.dataset = content ->> 'dataset' AND new_key IS NULL",
            "new_key IS NULL",
            "a run of any dataset is settled",
        ),
        (
            "    IF (coalesce(paid.job, session_user) = session_user) IS NOT TRUE THEN",
            "    IF false THEN",
            "a role settles the run of another",
        ),
        ("    IF (coalesce(paid.job, session_user) =", "    IF (paid.job =", "older runs are continued by nobody"),
        ("DELETE FROM {0}.keys AS held WHERE held.reservation = run;", "NULL;", "a key stays"),
    ),
    *quoted_at(
        _ROOM,
        "KEY_OF",
        (
            "WHERE held.reservation = waiting AND coalesce(paid.job, session_user) = session_user",
            "WHERE held.reservation = waiting",
            "a role reads the key of another's run",
        ),
    ),
    *quoted_at(
        _ROOM,
        "TAKE_LOCK",
        ("LOCK TABLE {0}.ledger IN EXCLUSIVE MODE;", "", "jobs wait for nobody"),
    ),
    *quoted_at(
        _ROOM,
        "MIGRATIONS",
        ("DELETE FROM {0}.state", "SELECT", "a state that jobs could write is trusted"),
        ("DROP POLICY jobs_append ON {0}.entries", "SELECT", "older policies stay"),
    ),
    *quoted_at(
        _ROOM,
        "GRANTS",
        (
            "GRANT SELECT ON {0}.ledger, {0}.entries, {0}.state TO {1}",
            "GRANT SELECT ON ALL TABLES IN SCHEMA {0} TO {1}",
            "jobs read all keys",
        ),
        (
            "GRANT USAGE ON SCHEMA {0} TO {1}",
            "GRANT ALL ON SCHEMA {0} TO {1}",
            "jobs make functions in the ledger's schema",
        ),
    ),
    *quoted_at(
        _ROOM,
        "REVOKES",
        ("REVOKE ALL ON ALL FUNCTIONS IN SCHEMA {0} FROM {1} CASCADE", "SELECT", "everybody may append"),
        ("REVOKE ALL ON ALL TABLES IN SCHEMA {0} FROM {1} CASCADE", "SELECT", "older rights stay"),
    ),
    *quoted_at(
        _ROOM,
        "SCHEMA_ACCESS",
        ("(part.relowner <> space.nspowner OR part", "(part", "a table may be another role's"),
        ("OR part.relkind <> 'r' OR", "OR", "a view stands for a table"),
        ("(part.proowner <> space.nspowner OR NOT part.prosecdef)", "false", "a function may be another role's"),
        (
            ("\n            OR part.relrowsecurity AND part.relname <> 'entries'))"),
            "))",
            "a table has policies that run for whoever looks",
        ),
    ),
    *at(
        _ROOM,
        "_SEARCH",
        (
            "'SET search_path = pg_catalog, pg_temp'",
            "\"SET application_name = 'dpqr'\"",
            "names are looked up where the role says",
        ),
    ),
    *at(
        _ROOM,
        "PostgresStore._connected",
        ("connection.execute(_SEARCH)", "", "a connection begins with any search_path"),
    ),
    *at(
        _ROOM,
        "PostgresStore.make",
        ("not standing.made and (not standing.owns)", "False", "any schema will do"),
    ),
    *at(
        _ROOM,
        "PostgresStore._require_owner",
        ("if not standing.owns: ...", "", "anybody may try to grant"),
    ),
    *at(
        _ROOM,
        "PostgresStore._sound",
        ("standing.old", "False", "policies may stand on entries"),
    ),
    *at(
        _ROOM,
        "PostgresStore._standing",
        ("not sound", "False", "what others own is run"),
    ),
    *at(
        _ROOM,
        "PostgresStore.make",
        (
            "self._revoke(connection, sql.SQL('PUBLIC') if everybody else sql.Identifier(role))",
            "(connection, sql.SQL('PUBLIC') if everybody else sql.Identifier(role))",
            "rights that are given by default stay",
        ),
    ),
    *at(
        _ROOM,
        "PostgresSession.entry_rows",
        ("'' if job in (None, self.standing.role) else job", "''", "nobody knows which role has appended a bad entry"),
    ),
    *at(
        _ROOM,
        "PostgresSession.disown",
        ("self.rows(f'UPDATE {self.prefix}entries SET job = NULL')", "pass", "a moved run is the owner's alone"),
    ),
    *at(
        _ROOM,
        "LedgerState.replay",
        ("link.job or number in rejected", "link.job", "an export rejects less than the ledger"),
        ("link.job or number in rejected", "False", "a job writes what a terminal obeys"),
        ("number not in rejected", "False", "a forged entry counts for nothing, unseen"),
    ),
    *at(
        _ROOM,
        "LedgerState.replay",
        ("chain.rejected.union", "frozenset", "what the owner has rejected stops the ledger"),
    ),
    *at(
        _ROOM,
        "ChainSegment.rejected",
        ("suppress(LedgerError)", "suppress(UsageFault)", "a bad entry that holds the words of a rejection stops all"),
    ),
)
