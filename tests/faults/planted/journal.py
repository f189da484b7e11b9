"""Faults of the journal: what a run that died may be continued from, and in which order it reaches the disk."""

from faults.anchored import Anchored, at

_ROOM = "ledger"

FAULTS: tuple[Anchored, ...] = (
    *at(
        _ROOM,
        "_opened",
        ("sync_directory(path.parent)", "", "a transcript's name is not synced"),
        ("os.open(path, flags, 384)", "os.open(path, flags, 420)", "anybody reads a transcript"),
        (
            "os.O_RDWR | os.O_CREAT | getattr(os, 'O_NOFOLLOW', 0)",
            "os.O_RDWR | os.O_CREAT",
            "a transcript follows a planted link",
        ),
    ),
    *at(
        _ROOM,
        "claim_file",
        ("locked and _is_at(descriptor, path)", "locked", "a file that was removed meanwhile is held"),
    ),
    *at(
        _ROOM,
        "_locked",
        ("fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)", "pass", "two jobs hold one transcript"),
    ),
    *at(
        _ROOM,
        "_remove_if_empty",
        (
            "_locked(descriptor) and _is_at(descriptor, Path(entry.path)) and (not os.fstat(descriptor).st_size)",
            "_locked(descriptor) and _is_at(descriptor, Path(entry.path))",
            "a transcript that was begun meanwhile is removed",
        ),
        (
            "not stat.S_ISREG(status.st_mode) or status.st_size or time.time() - status.st_mtime < OLD",
            "not stat.S_ISREG(status.st_mode) or status.st_size",
            "a file that a job is about to hold is removed",
        ),
        (
            "_locked(descriptor) and _is_at(descriptor, Path(entry.path)) and (not os.fstat(descriptor).st_size)",
            "_is_at(descriptor, Path(entry.path)) and (not os.fstat(descriptor).st_size)",
            "an empty file that is held is removed",
        ),
    ),
    *at(
        _ROOM,
        "LedgerJournal.same_table",
        (
            "isinstance(found, str) and mark is not None and hmac.compare_digest(found, mark)",
            "mark is None or (isinstance(found, str) and hmac.compare_digest(found, mark))",
            "a run goes on with a table that has no mark",
        ),
        ("len(self.file.lines) <= TABLE", "len(self.file.lines) <= BEFORE", "a continued run marks its table anew"),
    ),
    *at(
        _ROOM,
        "LedgerJournal.past",
        ("drawn.get('draw') != self.number", "False", "draws may stand in any order"),
        ("self.lost |= drawn.get('value') is None", "self.lost = False", "a lost draw is not told"),
    ),
    *at(
        _ROOM,
        "LedgerJournal.begin",
        (
            "self.ledger.begin(self.paid, event, number=self.number, transcript=self.file.digest)",
            "",
            "the ledger does not learn that a draw begins",
        ),
    ),
    *at(
        _ROOM,
        "LedgerJournal._record",
        (
            ("self.file.append(line)\nself.ledger.record(self.paid, number=self.number, transcript=self.file.digest)"),
            ("self.ledger.record(self.paid, number=self.number, transcript=self.file.digest)\nself.file.append(line)"),
            "the ledger learns a draw before it lies in the file",
        ),
        ("self.file.digest", "self.file.digest_of(0)", "the ledger learns another hash"),
    ),
    *at(
        _ROOM,
        "continue_journal",
        (
            "len(file.lines) < lines or file.digest_of(lines) != run.transcript",
            "len(file.lines) < lines",
            "an edited transcript is continued",
        ),
        ("journal.lose(run.lost)", "pass", "a draw that was begun is made again"),
        ("file.cut(lines)", "", "a line that the ledger does not know is taken"),
        ("file.cut(BEFORE)", "pass", "draws stay of a run that has begun none"),
    ),
    *at(
        _ROOM,
        "run_of",
        ("header.get('dpqr') != FORMAT", "False", "any file is a transcript"),
    ),
    *at(
        _ROOM,
        "LedgerJournal.lose",
        (
            "{'draw': self.known, 'event': _plain(event), 'value': None}",
            "{'draw': self.known, 'event': _plain(event), 'value': 0}",
            "a lost draw has a value",
        ),
    ),
    *at(
        _ROOM,
        "LedgerJournal.begun",
        (
            "self.known > 0 or self._event is not None",
            "self._event is not None",
            "a continued run says that it has drawn nothing",
        ),
    ),
    *at(
        _ROOM,
        "plan_form",
        ("(_query(block) for block in problem.workload.blocks)", "[]", "a plan of other queries has the same digest"),
        ("[_domain(problem.domain)]", "[]", "a plan of another domain has the same digest"),
        (
            "([_query(block) for block in blocks] for blocks in plan.opening)",
            "[]",
            "a plan that opens otherwise has the same digest",
        ),
        (
            "{'epsilon': _exact(plan.budget.epsilon), 'delta': _exact(plan.budget.delta)}",
            "{'delta': _exact(plan.budget.delta)}",
            "a plan of another budget has the same digest",
        ),
        ("_price(phase.price)", "None", "a plan of other prices has the same digest"),
    ),
    *at(
        _ROOM,
        "_sha256",
        ("hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()", "''", "coefficients are not looked at"),
    ),
    *at(
        _ROOM,
        "_factor",
        (
            "{'axes': list(factor.axes), 'sizes': list(factor.sizes), 'rows': _matrix(factor.matrix)}",
            "{'sizes': list(factor.sizes), 'rows': _matrix(factor.matrix)}",
            "sums over other columns have the same digest",
        ),
        (
            "{'axes': list(factor.axes), 'sizes': list(factor.sizes), 'rows': _matrix(factor.matrix)}",
            "{'axes': list(factor.axes), 'sizes': list(factor.sizes)}",
            "other sums have the same digest",
        ),
    ),
    *at(
        _ROOM,
        "_",
        ("[_array(each) for each in entries.coords]", "[]", "coefficients may change their places"),
    ),
    *at(
        _ROOM,
        "release_note",
        (
            "f'{_NOTE}form {FORM} of {__version__}'",
            "f'{_NOTE}form {FORM} of any'",
            "another version goes on with a run",
        ),
    ),
    *at(
        _ROOM,
        "table_mark",
        (
            "hmac.new(key, canonical([source.delimiter, source.count_column, *stated]).encode(), hashlib.sha256)",
            "hmac.new(b'', canonical([source.delimiter, source.count_column, *stated]).encode(), hashlib.sha256)",
            "a table's mark has no key",
        ),
        ("[source.delimiter, source.count_column, *stated]", "[]", "a table that is read otherwise has the same mark"),
        ("_file_digest(file.path)", "file.path.encode()", "another table under the same name has the same mark"),
        ("not source.repeatable", "False", "standard input is marked"),
        (
            "hashlib.sha256(os.fsencode(path)).digest() + _file_digest(path)",
            "hashlib.sha256(os.fsencode(path)).digest()",
            "files that an engine reads may have changed",
        ),
    ),
    *at(
        _ROOM,
        "_file_digest",
        (
            "while chunk := opened.read(CHUNK): ...",
            "if chunk := opened.read(CHUNK): ...",
            "a table's mark ends with its first megabyte",
        ),
    ),
    *at(
        _ROOM,
        "TranscriptFile._write",
        ("os.fsync(self._descriptor)", "", "a line is not synced before the ledger learns it"),
        (
            ("write_whole(self._descriptor, content)\nos.fsync(self._descriptor)"),
            ("os.fsync(self._descriptor)\nwrite_whole(self._descriptor, content)"),
            "a line is synced before it is written",
        ),
    ),
    *at(
        _ROOM,
        "TranscriptFile.cut",
        ("os.fsync(self._descriptor)", "", "a cut is not synced"),
        (
            "del self.lines[count:], self._digests[count:]",
            "del self.lines[count:]",
            "the hash goes on from what was cut",
        ),
        ("self._size, self._room = (kept, 0)", "self._room = 0", "a line is written behind what was cut"),
    ),
    *at(
        _ROOM,
        "TranscriptFile.append",
        ("_length(line) > self._room", "False", "a line goes on from what a crash cut off"),
    ),
    *at(
        _ROOM,
        "TranscriptFile.digest_of",
        ("count - 1", "-1", "an older hash is the newest"),
    ),
    *at(
        _ROOM,
        "TranscriptFile._add",
        ("self.digest", "''", "hashes do not go on from each other"),
    ),
    *at(
        _ROOM,
        "open_transcript",
        ("not file.lines", "True", "the transcript of a run that died is removed"),
    ),
    *at(
        _ROOM,
        "_read",
        ("opened.read().rpartition(b'\\n')", "(opened.read(), b'', b'')", "half a line is a line"),
        (
            "os.fstat(descriptor).st_size > LARGEST",
            "os.fstat(descriptor).st_size > 2 * LARGEST",
            "a file beyond any transcript is read",
        ),
    ),
    *at(
        _ROOM,
        "write_whole",
        ("content[written:]", "b''", "a write that ends early is taken for whole"),
    ),
)
