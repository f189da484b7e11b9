"""Faults of the ledger: chain, anchor, rules of the book, keys, policies, durability."""

from faults.anchored import Anchored, at

_ROOM = "ledger"

FAULTS: tuple[Anchored, ...] = (
    *at(
        _ROOM,
        "Anchor.draft",
        ("os.fsync(opened.fileno())", "", "a new anchor is not synced before it takes its place"),
        (
            "os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, 'O_NOFOLLOW', 0)",
            "os.O_WRONLY | os.O_CREAT | os.O_TRUNC",
            "a draft follows a planted link",
        ),
    ),
    *at(
        _ROOM,
        "Anchor.publish",
        ("sync_directory(self.path.parent)", "", "the anchor's new name is not synced"),
    ),
    *at(
        _ROOM,
        "Anchor.publish",
        (
            "os.replace(self._draft(mark.entries), self.path)",
            "self.path.write_bytes(self._draft(mark.entries).read_bytes())",
            "an anchor is not replaced whole",
        ),
    ),
    *at(
        _ROOM,
        "Anchor.check",
        ("chain.seal_after(mark.entries) != mark.seal", "False", "a rewritten ledger passes its anchor"),
        (("if chain.length:\n    ..."), ("if chain.length > 10 ** 6:\n    ..."), "a missing anchor is not missed"),
    ),
    *at(
        _ROOM,
        "Anchor.read",
        (
            "isinstance(mark.entries, bool) or not isinstance(mark.entries, int) or mark.entries < 1",
            "not isinstance(mark.entries, int) or mark.entries < 1",
            "an anchor of a truth value",
        ),
        ("mark.entries < 1", "mark.entries < 0", "an anchor of no entries"),
    ),
    *at(
        _ROOM,
        "LedgerState.add",
        (
            "entry.number != self.length or (entry.kind == 'open') != (entry.number == 0)",
            "False",
            "entries may come in any order",
        ),
        ("entry.anchored or entry.kind == 'anchor'", "entry.anchored", "an anchor that is kept later is forgotten"),
    ),
    *at(
        _ROOM,
        "LedgerState.add",
        ("entry.state != digest(self.text)", "False", "a checkpoint of any state"),
    ),
    *at(
        _ROOM,
        "LedgerState._init",
        ("existing is not None", "False", "a dataset's budget may be opened anew"),
        ("entry.dataset.casefold()", "entry.dataset", "a name in other letters has a second budget"),
    ),
    *at(
        _ROOM,
        "LedgerState.add",
        ("require_stricter(held.terms.policy, entry.policy)", "pass", "a policy may be loosened"),
        ("policy_stated=True", "", "an old budget may change its policy for ever"),
    ),
    *at(
        _ROOM,
        "LedgerState.require_payable",
        ("held.spent", "{}", "a reservation forgets what was spent"),
        ("terms.cap is not None and (not entry.cost <= terms.cap)", "False", "the cap of one release is ignored"),
        ("terms.total(spent, nodes)", "entry.cost", "each run alone is held against the limit"),
        ("not terms.periods.of(name, read) <= terms.periods.share", "False", "a period may spend the whole budget"),
        ("first is not None and period.index(first) < 0", "False", "periods before the first are paid"),
        (
            "terms.currency is PAIR or not is_free(entry.layer, entry.period, held.nodes, held.runs)",
            "False",
            "a forged layer is admitted",
        ),
        (
            "(entry.pricing is not None) != (terms.currency is PAIR)",
            "False",
            "a reservation need not say how it is priced",
        ),
    ),
    *at(
        _ROOM,
        "LedgerState._reserve",
        ("held.spent = held.charged(held.spent, entry, entry.cost)", "", "a reservation is not added to what is spent"),
        (
            "held.nodes = held.noded(entry, entry.cost)",
            "",
            "a release of a counter of persons is not added to what is spent",
        ),
        ("held.reservations += 1", "", "reservations are not counted"),
    ),
    *at(
        _ROOM,
        "LedgerState._settle",
        ("not run.settled(run.events) <= entry.cost", "False", "a run settles below what it began"),
        ("not entry.cost <= paid.cost", "False", "a settlement may pass what was reserved"),
        ("del held.runs[paid.number]", "", "a run may be settled twice"),
        (
            "held.charged(held.spent, paid, entry.cost - paid.cost)",
            "held.charged(held.spent, paid, Cost() - paid.cost)",
            "a settled run costs nothing",
        ),
    ),
    *at(
        _ROOM,
        "LedgerState.replay",
        (
            "(DpqrError, ValueError, TypeError, AttributeError, ArithmeticError)",
            "(LedgerError, ValueError, TypeError, AttributeError, ArithmeticError)",
            "a forged entry is told as a refusal",
        ),
    ),
    *at(
        _ROOM,
        "seal",
        ("f'{previous}\\n{text}'", "text", "seals do not go on from each other"),
    ),
    *at(
        _ROOM,
        "chain_segment",
        ("number != expected", "False", "a missing entry is not missed"),
        ("stored != seal(previous, text)", "False", "an edited entry is not noticed"),
    ),
    *at(
        _ROOM,
        "ChainSegment.seal_after",
        ("entries - self.first - 1", "-1", "an anchor that lags is told from the chain's end"),
    ),
    *at(
        _ROOM,
        "cost_document",
        ("[amount, exact_text(cost.delta)] if cost.delta else amount", "amount", "the delta of a cost is not written"),
    ),
    *at(
        _ROOM,
        "sum_document",
        (
            "(cost.amount, cost.delta) if cost.delta else (cost.amount,)",
            "(cost.amount,)",
            "the delta of a sum is not written",
        ),
    ),
    *at(
        _ROOM,
        "decode_cost",
        ("not delta", "False", "two texts of one cost"),
    ),
    *at(
        _ROOM,
        "_SETTINGS",
        ("'PRAGMA synchronous = EXTRA'", "'PRAGMA synchronous = FULL'", "a power loss brings a rolled back budget"),
        ("'PRAGMA secure_delete = ON'", "'PRAGMA secure_delete = OFF'", "an erased key stays in the file"),
        ("'PRAGMA journal_size_limit = 0'", "'PRAGMA journal_size_limit = -1'", "an erased key stays in the journal"),
        ("'PRAGMA journal_mode = DELETE'", "'PRAGMA journal_mode = WAL'", "committed entries lie in a second file"),
    ),
    *at(
        _ROOM,
        "SqliteStore.writing",
        ("'BEGIN IMMEDIATE'", "'BEGIN'", "two jobs read the same balance"),
        (
            'connection.execute("PRAGMA locking_mode = EXCLUSIVE")',
            "",
            "another job comes between a commit and its anchor",
        ),
    ),
    *at(
        _ROOM,
        "SqliteSession.is_begun",
        ("schema != [(TABLE,), (KEYS,), (STATE,)] or mark != APPLICATION", "False", "any database is a ledger"),
    ),
    *at(
        _ROOM,
        "SqliteSession.require_integrity",
        (
            "self.rows('PRAGMA integrity_check(1)') != [('ok',)]",
            "self.rows('PRAGMA integrity_check(1)') == []",
            "damage that SQLite finds is ignored",
        ),
    ),
    *at(
        _ROOM,
        "TERMS_FORMAT",
        ("_optional(cost_document)", "lambda _: None", "a cap is not written"),
        ("POLICY_FORMAT.write(terms.policy)", "POLICY_FORMAT.write(Policy())", "a policy is not written"),
        ("decode_policy(text['policy'])", "Policy()", "a policy is not read"),
        (
            "attribute('neighbours', lambda neighbours: neighbours.value, Neighbours)",
            "attribute('neighbours', lambda neighbours: neighbours.value, lambda _: Neighbours.ADD_REMOVE)",
            "neighbours are not read",
        ),
    ),
    *at(
        _ROOM,
        "PRICING_FORMAT",
        (
            "attribute('delta', exact_text, parse_exact)",
            "attribute('delta', exact_text, lambda _: Pricing().delta)",
            "the delta of a run's price is not read",
        ),
    ),
    *at(
        _ROOM,
        "encode_events",
        ("{**_plain(event), 'count': count}", "{**_plain(event), 'count': 1}", "repeated draws are written once"),
    ),
    *at(
        _ROOM,
        "decode_events",
        (
            "LeftOutEvent(event=_decode(tuple(part['event'].items())))",
            "_decode(tuple(part['event'].items()))",
            "a draw from left-out records is read as another one",
        ),
    ),
    *at(
        _ROOM,
        "parse_exact",
        ("str(value) != text", "False", "a figure has several texts"),
    ),
    *at(
        _ROOM,
        "_whole",
        ("value < least", "False", "a count below nothing is read"),
    ),
    *at(
        _ROOM,
        "_decode",
        ("set(part) != {*known, 'kind'}", "False", "unknown parameters are dropped"),
    ),
    *at(
        _ROOM,
        "exact_text",
        ("10 ** LONGEST", "10 ** (10 * LONGEST)", "figures without end are written"),
    ),
    *at(
        _ROOM,
        "network_type",
        ("found if found in NETWORK else None", "None", "a ledger may lie on a network"),
    ),
    *at(
        _ROOM,
        "mounted_type",
        ("len(point) >= best", "len(point) > best", "a later mount does not hide an earlier one"),
    ),
    *at(
        _ROOM,
        "mounted_type",
        ("f'{point}/'", "point", "a mount over another directory is taken"),
    ),
    *at(
        _ROOM,
        "StoreTransaction.stored_key",
        ("not found or not _is_sound(found[0][0])", "not found", "a damaged key is used"),
    ),
    *at(
        _ROOM,
        "StoreTransaction.append",
        ("self.rows(f'DELETE FROM {self.prefix}keys WHERE reservation = ?', settles)", "pass", "a key is not erased"),
    ),
    *at(
        _ROOM,
        "StoreTransaction.store_state",
        (
            "self.rows(f'DELETE FROM {self.prefix}state')",
            "self.rows(f'DELETE FROM {self.prefix}state WHERE number = ?', number)",
            "old states stay beside the new one",
        ),
    ),
    *at(
        _ROOM,
        "StoreTransaction.require_keys",
        (
            "not known or (missing and (not spoilt)) or (not all((_is_sound(key) for _, key in found)))",
            "missing and (not spoilt) or not all((_is_sound(key) for _, key in found))",
            "a key that should be gone is not noticed",
        ),
        (
            "not known or (missing and (not spoilt)) or (not all((_is_sound(key) for _, key in found)))",
            "not known or not all((_is_sound(key) for _, key in found))",
            "a key that is missing is not noticed",
        ),
        ("not all((_is_sound(key) for _, key in found))", "False", "a damaged key is not noticed"),
    ),
    *at(
        _ROOM,
        "require_name",
        ("len(name) > LONGEST_NAME or not _NAME.fullmatch(name)", "not _NAME.match(name)", "any name is one"),
    ),
    *at(
        _ROOM,
        "require_text",
        ("not text.isprintable()", "False", "a note of several lines"),
    ),
)
