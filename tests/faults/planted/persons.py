"""Faults of persons: who is whose, the bound of K rows, tickets, their key, the order of persons, groups and slots."""

from faults.anchored import Anchored, at

FAULTS: tuple[Anchored, ...] = (
    *at(
        "tables",
        "Bounding.finish",
        (
            "smallest_tickets(owners, held.persons, self.most, self.key, ranks)",
            "smallest_tickets(owners, held.persons, len(owners), self.key, ranks)",
            "the bound of rows a person is ignored",
        ),
        (
            "smallest_tickets(owners, held.persons, self.most, self.key, ranks)",
            "smallest_tickets(owners, held.persons, self.most + 1, self.key, ranks)",
            "a person has one row too many",
        ),
        ("held.read - kept", "held.read", "kept rows count as lost too"),
        ("owners[chosen]", "owners[:chosen.sum()]", "rows part from their owners"),
        ("persons=len(held.read)", "persons=len(np.unique(owners))", "persons without a kept row are not counted"),
    ),
    *at(
        "tables",
        "Bounding._joined",
        ("merged(rows, counts)", "merged(rows, np.ones_like(counts))", "equal rows held are one row"),
        ("read[:old] = held.read", "read[:old] = 0", "rows read earlier are forgotten"),
        ("np.add.at(read, places[old:], 1)", "read[places[old:]] += 1", "several rows of one batch count once"),
        ("[held.persons, *people]", "[*people, held.persons]", "persons held change their numbers"),
        ("map(len, people)", "(0 for _ in people)", "rows of later batches get other owners"),
    ),
    *at(
        "tables",
        "Bounding._merge",
        ("PEAK * held.bytes > self.memory", "False", "the declared memory is no limit"),
        ("PEAK * held.bytes", "held.bytes", "the sort's copies take no memory"),
    ),
    *at(
        "tables",
        "persons",
        (
            "numpy_values(compute.binary_length(found)) > 0",
            "numpy_values(compute.binary_length(found)) > -1",
            "an empty text is a person",
        ),
        (
            "types.is_integer(cells.type) and (not types.is_uint64(cells.type))",
            "types.is_integer(cells.type)",
            "large numbers are no persons",
        ),
    ),
    *at(
        "tables",
        "_plain",
        ("numbers if same else found", "numbers", "07 and 7 are one person"),
    ),
    *at(
        "tables",
        "distinct",
        ("as_text(part)", "part.cast(parts[0].type)", "a person is another one as a number and as text"),
    ),
    *at(
        "tables",
        "person_refusal",
        (
            "is_text(kind) or types.is_integer(kind)",
            "is_text(kind) or types.is_integer(kind) or types.is_floating(kind)",
            "a person may be a float",
        ),
    ),
    *at(
        "tables",
        "Slots.of_rows",
        ("coded.read", "len(coded.origins)", "dropped rows move the slots of others"),
        ("coded.origins", "np.arange(len(coded.origins))", "a dropped row moves the slots of others"),
    ),
    *at(
        "tables",
        "Slots.of_persons",
        ("_permutation(persons, self.noise)", "np.arange(persons)", "a person's place tells where it stood"),
        (
            "self._read += bounded.persons",
            "self._read += len(np.unique(bounded.owners))",
            "persons of two groups share their slots",
        ),
        ("mine[owners] * self.most", "mine[owners]", "persons share slots"),
        ("(*bounded.rows, bounded.owners)", "(bounded.owners,)", "the order of a file decides a person's slots"),
    ),
    *at(
        "tables",
        "_permutation",
        ("len(np.unique(keys)) == count", "True", "ties decide a permutation"),
    ),
    *at(
        "tables",
        "Splitter.draw",
        (
            "noise.words(_WORDS + 2 if groups > 1 else 0) | np.uint64(1)",
            "np.arange(1, _WORDS + 3, dtype=np.uint64) * np.uint64(2 ** 61 - 1)",
            "everybody knows the key of the groups",
        ),
    ),
    *at(
        "tables",
        "Splitter.group",
        (
            "lengths.astype(np.uint64)",
            "np.arange(len(lengths), dtype=np.uint64)",
            "a person's group depends on the row",
        ),
        ("mixed[rows] ^ word", "word", "the last letters alone decide the group"),
        (
            "words[starts[rows] + _LETTERS * place] << spare",
            "words[starts[rows] + _LETTERS * place]",
            "a person's group depends on the next row's name",
        ),
    ),
    *at(
        "tables",
        "_letters",
        (
            "np.frombuffer(offsets, dtype=np.int64)[text.offset:text.offset + len(text) + 1]",
            "np.frombuffer(offsets, dtype=np.int64)[0:len(text) + 1]",
            "the group of another row",
        ),
    ),
    *at(
        "tables",
        "_by_ticket",
        ("(np.diff(joined[order]) != 0).all()", "True", "digits below the leading ones do not count"),
        (
            "owners.astype(np.uint64) << digits | tickets >> np.uint64(64) - digits",
            "tickets >> np.uint64(64) - digits",
            "persons compare their tickets with others'",
        ),
        ("(tickets, owners)", "(owners,)", "ties of leading digits go by the rows' order"),
    ),
    *at(
        "tables",
        "last_in_order",
        ("last is None", "True", "persons may come again in the next batch"),
        ("compute.any(compute.less(joined[1:], joined[:-1]), min_count=0).as_py()", "False", "no order is checked"),
    ),
    *at(
        "tables",
        "PersonIntake._add",
        (("if ended:\n    ..."), ("if True:\n    ..."), "a person's rows in two batches are two persons'"),
        ("int(np.searchsorted(places, ended))", "ended", "rows that a rule drops move the cut"),
        ("places[before:] - ended", "places[before:]", "rows after the cut have other owners"),
    ),
    *at(
        "tables",
        "load_table",
        ("b'' if unit.column is None else secret_key(noise)", "b''", "everybody knows the key of the tickets"),
    ),
    *at(
        "kernel",
        "KeyedNoise.words",
        (
            "self._number, missing = (self._number + 1, missing - _PIECE)",
            "missing = missing - _PIECE",
            "a keyed stream repeats itself",
        ),
        ("found[8 * count:]", "found", "a keyed stream gives words a second time"),
        ("found[8 * count:]", "b''", "a keyed stream depends on how it is asked for"),
        ("self.key + self._number.to_bytes(8, 'big')", "self._number.to_bytes(8, 'big')", "all keyed streams are one"),
    ),
    *at(
        "kernel",
        "keyed_words",
        ("key + _NAME + name", "key + _NAME", "all persons share their tickets"),
        ("key + _NAME", "_NAME", "tickets do not depend on the key"),
    ),
)
