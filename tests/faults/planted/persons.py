"""Faults of persons: who is whose, the bound of K rows, tickets, their key, the order of persons, groups and slots."""

from faults.fault import planted_in

FAULTS = (
    *planted_in(
        "tables/persons.py",
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
        (
            "lost = np.minimum(held.read - kept, self.most).sum()",
            "lost = (held.read - kept).sum()",
            "a person counts more than K lost rows",
        ),
        (
            "lost = np.minimum(held.read - kept, self.most).sum()",
            "lost = np.minimum(held.read, self.most).sum()",
            "kept rows count as lost too",
        ),
        (
            "rows, owners = rows[chosen], owners[chosen]",
            "rows, owners = rows[chosen], owners[: chosen.sum()]",
            "rows part from their owners",
        ),
        (
            "rows, counts = merged(rows, counts)",
            "rows, counts = merged(rows, np.ones_like(counts))",
            "equal rows held are one row",
        ),
        ("        if PEAK * held.bytes > self.memory:", "        if False:", "the declared memory is no limit"),
        (
            "        if PEAK * held.bytes > self.memory:",
            "        if held.bytes > self.memory:",
            "the sort's copies take no memory",
        ),
        ("            read[:old] = held.read\n", "            read[:old] = 0\n", "rows read earlier are forgotten"),
        (
            "        np.add.at(read, places[old:], 1)\n",
            "        read[places[old:]] += 1\n",
            "several rows of one batch count once",
        ),
        (
            "distinct([held.persons, *people] if held else people)",
            "distinct([*people, held.persons] if held else people)",
            "persons held change their numbers",
        ),
        (
            "starts = np.cumsum([old, *map(len, people)])",
            "starts = np.cumsum([old, *(0 for _ in people)])",
            "rows of later batches get other owners",
        ),
        (
            "persons=len(held.read), lost=int(lost))",
            "persons=len(np.unique(owners)), lost=int(lost))",
            "persons without a kept row are not counted",
        ),
    ),
    *planted_in(
        "tables/persons.py",
        (
            "named = numpy_values(compute.binary_length(found)) > 0",
            "named = numpy_values(compute.binary_length(found)) > -1",
            "an empty text is a person",
        ),
        ("    return numbers if same else found", "    return numbers", "07 and 7 are one person"),
        (
            "if types.is_integer(cells.type) and not types.is_uint64(cells.type):",
            "if types.is_integer(cells.type):",
            "large numbers are no persons",
        ),
        (
            "        parts = [as_text(part) for part in parts]\n",
            "        parts = [part.cast(parts[0].type) for part in parts]\n",
            "a person is another one as a number and as text",
        ),
        (
            "return None if is_text(kind) or types.is_integer(kind) else",
            "return None if is_text(kind) or types.is_integer(kind) or types.is_floating(kind) else",
            "a person may be a float",
        ),
    ),
    *planted_in(
        "tables/load.py",
        (
            "        self._read += coded.read\n",
            "        self._read += len(coded.origins)\n",
            "dropped rows move the slots of others",
        ),
        (
            "found = (self._read + coded.origins) % self.count",
            "found = (self._read + np.arange(len(coded.origins))) % self.count",
            "a dropped row moves the slots of others",
        ),
        (
            "            self._places = _permutation(persons, self.noise)\n",
            "            self._places = np.arange(persons)\n",
            "a person's place tells where it stood",
        ),
        (
            "        self._read += bounded.persons\n",
            "        self._read += len(np.unique(bounded.owners))\n",
            "persons of two groups share their slots",
        ),
        (
            "found[ordered] = mine[owners] * self.most + ranks",
            "found[ordered] = mine[owners] + ranks",
            "persons share slots",
        ),
        (
            "ordered = np.lexsort((*bounded.rows, bounded.owners))",
            "ordered = np.lexsort((bounded.owners,))",
            "the order of a file decides a person's slots",
        ),
        ("        if len(np.unique(keys)) == count:\n", "        if True:\n", "ties decide a permutation"),
    ),
    *planted_in(
        "tables/persons.py",
        (
            "noise.words(_WORDS + 2 if groups > 1 else 0) | np.uint64(1)",
            "np.arange(1, _WORDS + 3, dtype=np.uint64) * np.uint64(2**61 - 1)",
            "everybody knows the key of the groups",
        ),
        (
            "mixed = lengths.astype(np.uint64)",
            "mixed = np.arange(len(lengths), dtype=np.uint64)",
            "a person's group depends on the row",
        ),
        (
            "mixed[rows] = _stirred(mixed[rows] ^ word, ",
            "mixed[rows] = _stirred(word, ",
            "the last letters alone decide the group",
        ),
        ("text.offset : text.offset + len(text) + 1]", "0 : len(text) + 1]", "the group of another row"),
        (
            "words[starts[rows] + _LETTERS * place] << spare",
            "words[starts[rows] + _LETTERS * place]",
            "a person's group depends on the next row's name",
        ),
    ),
    *planted_in(
        "tables/persons.py",
        ("places >= most]]] = False", "places > most]]] = False", "a person has one row too many"),
        (
            "crowded = np.flatnonzero(sizes > most)",
            "crowded = np.flatnonzero(sizes > most + 1)",
            "one row too many is no crowd",
        ),
        ("(np.diff(joined[order]) != 0).all()", "True", "digits below the leading ones do not count"),
        ("joined = (owners.astype(np.uint64) << digits) |", "joined =", "persons compare their tickets with others'"),
        ("np.lexsort((tickets, owners))", "np.lexsort((owners,))", "ties of leading digits go by the rows' order"),
    ),
    *planted_in(
        "tables/persons.py",
        (
            "joined = found if last is None else",
            "joined = found if True else",
            "persons may come again in the next batch",
        ),
        (
            "if compute.any(compute.less(joined[1:], joined[:-1]), min_count=0).as_py():",
            "if False:",
            "no order is checked",
        ),
    ),
    *planted_in(
        "tables/counting.py",
        ("            if ended:\n", "            if True:\n", "a person's rows in two batches are two persons'"),
        ("before = int(np.searchsorted(places, ended))", "before = ended", "rows that a rule drops move the cut"),
        ("places[before:] - ended", "places[before:]", "rows after the cut have other owners"),
    ),
    *planted_in(
        "tables/load.py",
        (
            'key = b"" if unit.column is None else secret_key(noise)',
            'key = b""',
            "everybody knows the key of the tickets",
        ),
    ),
    *planted_in(
        "kernel/noise/source.py",
        ("self._number, missing = self._number + 1, missing", "missing = missing", "a keyed stream repeats itself"),
        ("self._left = found[8 * count :]", "self._left = found", "a keyed stream gives words a second time"),
        ("self._left = found[8 * count :]", 'self._left = b""', "a keyed stream depends on how it is asked for"),
        ("shake_256(self.key + self._number", "shake_256(self._number", "all keyed streams are one"),
        ("shake_256(key + _NAME + name)", "shake_256(key + _NAME)", "all persons share their tickets"),
        ("shake_256(key + _NAME + name)", "shake_256(_NAME + name)", "tickets do not depend on the key"),
    ),
)
