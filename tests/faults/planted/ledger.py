"""Faults of the ledger: chain, anchor, rules of the book, keys, policies, durability."""

from faults.fault import planted_in

FAULTS = (
    *planted_in(
        "ledger/chain.py",
        ("                os.fsync(opened.fileno())\n", "", "a new anchor is not synced before it takes its place"),
        ("            sync_directory(self.path.parent)\n", "", "the anchor's new name is not synced"),
        (
            "os.replace(self._draft(mark.entries), self.path)",
            "self.path.write_bytes(self._draft(mark.entries).read_bytes())",
            "an anchor is not replaced whole",
        ),
        (
            "if mark.entries > chain.length:",
            "if mark.entries > chain.length + 1:",
            "a ledger that lost one entry passes",
        ),
        ("if chain.seal_after(mark.entries) != mark.seal:", "if False:", "a rewritten ledger passes its anchor"),
        ("            if chain.length:\n", "            if chain.length > 10**6:\n", "a missing anchor is not missed"),
        ("if isinstance(mark.entries, bool) or not", "if not", "an anchor of a truth value"),
        ("or mark.entries < 1:", "or mark.entries < 0:", "an anchor of no entries"),
        (
            'os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)',
            "os.O_WRONLY | os.O_CREAT | os.O_TRUNC",
            "a draft follows a planted link",
        ),
    ),
    *planted_in(
        "ledger/state.py",
        (
            'if entry.number != self.length or (entry.kind == "open") != (entry.number == 0):',
            "if False:",
            "entries may come in any order",
        ),
        ("if entry.state != digest(self.text):", "if False:", "a checkpoint of any state"),
        ("        if existing is not None:", "        if False:", "a dataset's budget may be opened anew"),
        (
            ".get(entry.dataset.casefold())",
            ".get(entry.dataset)",
            "a name in other letters has a second budget",
        ),
        ("entry.terms.limit.amount <= 0:", "entry.terms.limit.amount < 0:", "a budget of nothing"),
        (
            "            require_stricter(held.terms.policy, entry.policy)\n",
            "            pass\n",
            "a policy may be loosened",
        ),
        (
            "policy=entry.policy, policy_stated=True)",
            "policy=entry.policy)",
            "an old budget may change its policy for ever",
        ),
        (
            "terms, spent = held.terms, held.charged(held.spent, entry, entry.cost)",
            "terms, spent = held.terms, held.charged({}, entry, entry.cost)",
            "a reservation forgets what was spent",
        ),
        ("if terms.cap is not None and not entry.cost <= terms.cap:", "if False:", "the cap of one release is ignored"),
        (
            "        if not terms.total(spent, nodes) <= terms.limit:",
            "        if not entry.cost <= terms.limit:",
            "each run alone is held against the limit",
        ),
        (
            "        held.spent = held.charged(held.spent, entry, entry.cost)\n",
            "",
            "a reservation is not added to what is spent",
        ),
        (
            "if not terms.periods.of(name, read) <= terms.periods.share:",
            "if False:",
            "a period may spend the whole budget",
        ),
        ("            _require_period(terms.periods, entry.period)\n", "", "periods before the first are paid"),
        (
            "        held.nodes = held.noded(entry, entry.cost)\n",
            "",
            "a release of a counter of persons is not added to what is spent",
        ),
        ("            _require_layer(held, entry, entry.layer)\n", "            pass\n", "a forged layer is admitted"),
        ("        held.reservations += 1\n", "", "reservations are not counted"),
        (
            "if (entry.pricing is not None) != (terms.currency is PAIR):",
            "if False:",
            "a reservation need not say how it is priced",
        ),
        ("        if run.paid.dataset != entry.dataset:", "        if False:", "a run of another dataset is settled"),
        ("if not run.settled(run.events) <= entry.cost:", "if False:", "a run settles below what it began"),
        ("        if not entry.cost <= paid.cost:", "        if False:", "a settlement may pass what was reserved"),
        ("        del held.runs[paid.number]\n", "", "a run may be settled twice"),
        (
            "held.charged(held.spent, paid, entry.cost - paid.cost)",
            "held.charged(held.spent, paid, Cost() - paid.cost)",
            "a settled run costs nothing",
        ),
        (
            'self.anchored = entry.anchored or entry.kind == "anchor"',
            "self.anchored = entry.anchored",
            "an anchor that is kept later is forgotten",
        ),
        (
            "        except (DpqrError, ValueError,",
            "        except (LedgerError, ValueError,",
            "a forged entry is told as a refusal",
        ),
    ),
    *planted_in(
        "ledger/chain.py",
        ('return digest(f"{previous}\\n{text}")', "return digest(text)", "seals do not go on from each other"),
        ("        if number != expected:", "        if False:", "a missing entry is not missed"),
        ("or stored != seal(previous, text):", "or False:", "an edited entry is not noticed"),
        (
            "return self.links[entries - self.first - 1].seal if",
            "return self.links[-1].seal if",
            "an anchor that lags is told from the chain's end",
        ),
    ),
    *planted_in(
        "ledger/codec.py",
        (
            "return [amount, exact_text(cost.delta)] if cost.delta else amount",
            "return amount",
            "the delta of a cost is not written",
        ),
        (
            "figures = (cost.amount, cost.delta) if cost.delta else (cost.amount,)",
            "figures = (cost.amount,)",
            "the delta of a sum is not written",
        ),
        ("    if not delta:\n        raise", "    if False:\n        raise", "two texts of one cost"),
    ),
    *planted_in(
        "ledger/sqlite.py",
        ('"PRAGMA synchronous = EXTRA"', '"PRAGMA synchronous = FULL"', "a power loss brings a rolled back budget"),
        ('"PRAGMA secure_delete = ON"', '"PRAGMA secure_delete = OFF"', "an erased key stays in the file"),
        ('"PRAGMA journal_size_limit = 0"', '"PRAGMA journal_size_limit = -1"', "an erased key stays in the journal"),
        ('"PRAGMA journal_mode = DELETE"', '"PRAGMA journal_mode = WAL"', "committed entries lie in a second file"),
        ('connection.execute("BEGIN IMMEDIATE")', 'connection.execute("BEGIN")', "two jobs read the same balance"),
        (
            '        connection.execute("PRAGMA locking_mode = EXCLUSIVE")\n',
            "",
            "another job comes between a commit and its anchor",
        ),
        ("if schema != [(TABLE,), (KEYS,), (STATE,)] or mark != APPLICATION:", "if False:", "any database is a ledger"),
        (
            'rows("PRAGMA integrity_check(1)") != [("ok",)]:',
            'rows("PRAGMA integrity_check(1)") == []:',
            "damage that SQLite finds is ignored",
        ),
    ),
    *planted_in(
        "ledger/codec.py",
        ('"cap": None if terms.cap is None else cost_document(terms.cap)', '"cap": None', "a cap is not written"),
        (
            '"policy": policy_document(terms.policy)} if',
            '"policy": policy_document(Policy())} if',
            "a policy is not written",
        ),
        ('policy=decode_policy(document["policy"]) if stated else Policy()', "policy=Policy()", "a policy is not read"),
        (
            'neighbours=Neighbours(document["neighbours"])',
            "neighbours=Neighbours.ADD_REMOVE",
            "neighbours are not read",
        ),
        (
            'delta=parse_exact(document["delta"]))\n\n\ndef terms',
            "delta=Pricing().delta)\n\n\ndef terms",
            "the delta of a run's price is not read",
        ),
    ),
    *planted_in(
        "ledger/codec.py",
        (
            'return [{**_plain(event), "count": count}',
            'return [{**_plain(event), "count": 1}',
            "repeated draws are written once",
        ),
        (
            "return LeftOutEvent(event=_decode(",
            "return (_decode(",
            "a draw from left-out records is read as another one",
        ),
        ("    if str(value) != text:", "    if False:", "a figure has several texts"),
        (
            'or value < 0:\n        raise ValueError("not a count")',
            'or False:\n        raise ValueError("not a count")',
            "a count below nothing is read",
        ),
        ('    if set(part) != {*known, "kind"}:', "    if False:", "unknown parameters are dropped"),
        (">= 10**LONGEST:", ">= 10 ** (10 * LONGEST):", "figures without end are written"),
    ),
    *planted_in(
        "ledger/location.py",
        ("return found if found in NETWORK else None", "return None", "a ledger may lie on a network"),
        ("len(point) >= best:", "len(point) > best:", "a later mount does not hide an earlier one"),
        ('path.startswith(f"{point}/")', "path.startswith(point)", "a mount over another directory is taken"),
    ),
    *planted_in(
        "ledger/session.py",
        ("if not found or not _is_sound(found[0][0]):", "if not found:", "a damaged key is used"),
        (
            '            self.rows(f"DELETE FROM {self.prefix}keys WHERE reservation = ?", settles)\n',
            "            pass\n",
            "a key is not erased",
        ),
        (
            '        self.rows(f"DELETE FROM {self.prefix}state")\n',
            '        self.rows(f"DELETE FROM {self.prefix}state WHERE number = ?", number)\n',
            "old states stay beside the new one",
        ),
        (
            "if not known or (missing",
            "if (missing",
            "a key that should be gone is not noticed",
        ),
        ("(missing and not spoilt) or", "", "a key that is missing is not noticed"),
        ("or not all(_is_sound(key) for _, key in found):", "or False:", "a damaged key is not noticed"),
    ),
    *planted_in(
        "ledger/refusals.py",
        (
            "if len(name) > LONGEST_NAME or not _NAME.fullmatch(name):",
            "if not _NAME.match(name):",
            "any name is one",
        ),
        ("or not text.isprintable():", "or False:", "a note of several lines"),
    ),
)
