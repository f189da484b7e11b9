"""Faults of the journal: what a run that died may be continued from, and in which order it reaches the disk."""

from faults.fault import planted_in

FAULTS = (
    *planted_in(
        "releases/journal.py",
        ("        sync_directory(path.parent)\n", "", "a transcript's name is not synced"),
        (
            "        if locked and _is_at(descriptor, path):",
            "        if locked:",
            "a file that was removed meanwhile is held",
        ),
        (
            "        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)\n",
            "        pass\n",
            "two jobs hold one transcript",
        ),
        (" and not os.fstat(descriptor).st_size:", ":", "a transcript that was begun meanwhile is removed"),
        (" or time.time() - status.st_mtime < OLD:", ":", "a file that a job is about to hold is removed"),
        ("if _locked(descriptor) and _is_at(", "if _is_at(", "an empty file that is held is removed"),
        (
            "descriptor = os.open(path, flags, 0o600)",
            "descriptor = os.open(path, flags, 0o644)",
            "anybody reads a transcript",
        ),
        (
            'os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)',
            "os.O_RDWR | os.O_CREAT",
            "a transcript follows a planted link",
        ),
    ),
    *planted_in(
        "releases/journal.py",
        (
            "return isinstance(found, str) and mark is not None and hmac.compare_digest(found, mark)",
            "return True",
            "a run goes on with any table",
        ),
        (
            "return isinstance(found, str) and mark is not None and",
            "return mark is None or isinstance(found, str) and",
            "a run goes on with a table that has no mark",
        ),
        ('if drawn.get("draw") != self.number:', "if False:", "draws may stand in any order"),
        ('if drawn.get("event") != _plain(event):', "if False:", "a value of another draw is taken"),
        (
            'if drawn.get("value") is not None and drawn.get("of") != blocks_digest(blocks):',
            "if False:",
            "answers to other sums are taken",
        ),
        ('self.lost |= drawn.get("value") is None', "self.lost = False", "a lost draw is not told"),
        (
            "        self.ledger.begin(self.paid, event, number=self.number, transcript=self.file.digest)\n",
            "",
            "the ledger does not learn that a draw begins",
        ),
        (
            "        self.file.append(line)\n"
            "        self.ledger.record(self.paid, number=self.number, transcript=self.file.digest)\n",
            "        self.ledger.record(self.paid, number=self.number, transcript=self.file.digest)\n"
            "        self.file.append(line)\n",
            "the ledger learns a draw before it lies in the file",
        ),
        (
            "self.ledger.record(self.paid, number=self.number, transcript=self.file.digest)",
            "self.ledger.record(self.paid, number=self.number, transcript=self.file.digest_of(0))",
            "the ledger learns another hash",
        ),
        (
            "if len(self.file.lines) <= TABLE:",
            "if len(self.file.lines) <= BEFORE:",
            "a continued run marks its table anew",
        ),
        (
            "if len(file.lines) < lines or file.digest_of(lines) != run.transcript:",
            "if len(file.lines) < lines:",
            "an edited transcript is continued",
        ),
        ("        journal.lose(run.lost)\n", "        pass\n", "a draw that was begun is made again"),
        ("    file.cut(lines)\n", "", "a line that the ledger does not know is taken"),
        ("        file.cut(BEFORE)\n", "        pass\n", "draws stay of a run that has begun none"),
        ('header.get("dpqr") != FORMAT or', "False or", "any file is a transcript"),
        (
            'lost, self.number = {"draw": self.known, "event": _plain(event), "value": None}, self.known',
            'lost, self.number = {"draw": self.known, "event": _plain(event), "value": 0}, self.known',
            "a lost draw has a value",
        ),
        (
            "return self.known > 0 or self._event is not None",
            "return self._event is not None",
            "a continued run says that it has drawn nothing",
        ),
    ),
    *planted_in(
        "releases/fingerprints.py",
        (
            "_digest(_query(block) for block in problem.workload.blocks)",
            "_digest([])",
            "a plan of other queries has the same digest",
        ),
        ("_digest([_domain(problem.domain)])", "_digest([])", "a plan of another domain has the same digest"),
        (
            "_digest([_query(block) for block in blocks] for blocks in plan.opening)",
            "_digest([])",
            "a plan that opens otherwise has the same digest",
        ),
        ("hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()", '""', "coefficients are not looked at"),
        (
            '{"axes": list(factor.axes), "sizes"',
            '{"sizes"',
            "sums over other columns have the same digest",
        ),
        (
            ', "rows": _matrix(factor.matrix)}',
            "}",
            "other sums have the same digest",
        ),
        ("[_array(each) for each in entries.coords]", "[]", "coefficients may change their places"),
        ('"epsilon": _exact(plan.budget.epsilon), ', "", "a plan of another budget has the same digest"),
        ("_price(phase.price)]", "None]", "a plan of other prices has the same digest"),
        ('form {FORM} of {__version__}"', 'form {FORM} of any"', "another version goes on with a run"),
    ),
    *planted_in(
        "releases/journal.py",
        ("hmac.new(key, canonical(", 'hmac.new(b"", canonical(', "a table's mark has no key"),
        (
            "canonical([source.delimiter, source.count_column, *stated])",
            "canonical([])",
            "a table that is read otherwise has the same mark",
        ),
        (
            "else _file_digest(file.path))",
            "else file.path.encode())",
            "another table under the same name has the same mark",
        ),
        (
            "        while chunk := opened.read(CHUNK):\n",
            "        if chunk := opened.read(CHUNK):\n",
            "a table's mark ends with its first megabyte",
        ),
        ("    if not source.repeatable:\n        return None\n", "", "standard input is marked"),
        (".digest() + _file_digest(path))", ".digest())", "files that an engine reads may have changed"),
    ),
    *planted_in(
        "releases/journal.py",
        (
            "        write_whole(self._descriptor, content)\n        os.fsync(self._descriptor)\n",
            "        write_whole(self._descriptor, content)\n",
            "a line is not synced before the ledger learns it",
        ),
        (
            "            self._truncate(kept)\n            os.fsync(self._descriptor)\n",
            "            self._truncate(kept)\n",
            "a cut is not synced",
        ),
        (
            "        write_whole(self._descriptor, content)\n        os.fsync(self._descriptor)\n",
            "        os.fsync(self._descriptor)\n        write_whole(self._descriptor, content)\n",
            "a line is synced before it is written",
        ),
        (
            "            if _length(line) > self._room:\n                self._truncate(self._size)\n",
            "",
            "a line goes on from what a crash cut off",
        ),
        (
            "return self._digests[count - 1] if count else BEGINNING",
            "return self._digests[-1] if count else BEGINNING",
            "an older hash is the newest",
        ),
        (
            "        del self.lines[count:], self._digests[count:]\n",
            "        del self.lines[count:]\n",
            "the hash goes on from what was cut",
        ),
        ("self._size, self._room = kept, 0", "self._room = 0", "a line is written behind what was cut"),
        (
            "self._digests.append(seal(self.digest, line))",
            'self._digests.append(seal("", line))',
            "hashes do not go on from each other",
        ),
        ("            if not file.lines:\n", "            if True:\n", "the transcript of a run that died is removed"),
        ('opened.read().rpartition(b"\\n")', '(opened.read(), b"", b"")', "half a line is a line"),
        ("st_size > LARGEST:", "st_size > 2 * LARGEST:", "a file beyond any transcript is read"),
    ),
    *planted_in(
        "kernel/files.py",
        ("content = content[written:]", 'content = b""', "a write that ends early is taken for whole"),
    ),
)
