"""Faults of sessions: a threshold that outlives its pass, a draw that is made again, an answer of other noise."""

from faults.anchored import Anchored, at

_ROOM = "sessions"

FAULTS: tuple[Anchored, ...] = (
    *at(
        _ROOM,
        "AboveThreshold.at",
        ("1 if one_way and (not ranged) else 2", "1", "answers of replaced records have half of their noise"),
        (
            "price.bounded_range if ranged else price.pure",
            "price.bounded_range",
            "replaced records are priced as of bounded range",
        ),
        ("price.epsilon is None", "True", "pure epsilon is priced as of bounded range"),
        ("unit.rows / (share * whole)", "1 / (share * whole)", "a person's threshold has the noise of one row"),
        (
            "unit.rows * times / ((1 - share) * whole)",
            "times / ((1 - share) * whole)",
            "a person's answers have the noise of one row",
        ),
        ("_directions(unit) == 1", "True", "replaced records move all counts one way"),
    ),
    *at(
        _ROOM,
        "AboveThreshold.event",
        ("self.unit.rows", "1", "an epoch of persons is charged as of rows"),
        ("_directions(self.unit)", "1", "an epoch of replaced records is charged in one direction"),
    ),
    *at(
        _ROOM,
        "OpenThreshold.charge",
        (
            "self.ended or event != self.epoch.event",
            "event != self.epoch.event",
            "a threshold that was passed is compared again",
        ),
        (
            "self.ended or event != self.epoch.event",
            "self.ended",
            "another epoch's comparisons are charged to this one",
        ),
    ),
    *at(
        _ROOM,
        "is_above_threshold",
        (
            "watch.ended = measure(data, asked, accountant=watch, noise=noise).value",
            "watch.ended = measure(data, asked, accountant=watch, noise=noise).value and watch.ended",
            "a pass does not end the epoch",
        ),
    ),
    *at(
        _ROOM,
        "open_threshold",
        ("Geometric(epoch.threshold_scale)", "Geometric(epoch.answer_scale)", "a threshold has the noise of an answer"),
    ),
    *at(
        _ROOM,
        "ThresholdComparison.sample",
        (
            "above + step * drawn >= step * (asked.margin + self.threshold)",
            "above + drawn >= step * (asked.margin + self.threshold)",
            "the noise of weighted queries is that of counts",
        ),
        (
            "above + step * drawn >= step * (asked.margin + self.threshold)",
            "above + step * drawn >= step * asked.margin + self.threshold",
            "the threshold of weighted queries is that of counts",
        ),
        (
            "Geometric(self.epoch.answer_scale)",
            "Geometric(self.epoch.threshold_scale)",
            "an answer has the noise of the threshold",
        ),
        (
            "self.epoch.side * (int(asked.block.answer(value)[0]) - asked.expected)",
            "abs(int(asked.block.answer(value)[0]) - asked.expected)",
            "both sides are looked at with one threshold",
        ),
    ),
    *at(
        _ROOM,
        "Question.step",
        (
            "answers_sensitivity((self.block,), Norm.L1, unit) // unit.rows",
            "answers_sensitivity((self.block,), Norm.L1, unit)",
            "a person's step counts K rows twice",
        ),
    ),
    *at(
        _ROOM,
        "Question.__post_init__",
        ("factor.matrix.smallest < 0", "factor.matrix.smallest < -1", "small negative coefficients are asked"),
        (
            "any((factor.matrix.smallest < 0 for factor in self.block.factors))",
            "all((factor.matrix.smallest < 0 for factor in self.block.factors))",
            "a negative factor beside others is asked",
        ),
    ),
    *at(
        _ROOM,
        "Online.ask",
        ("self.watches.get(side)", "self.watches.get(1)", "one threshold for both sides"),
        (
            "self.surprises < self.terms.surprises",
            "self.surprises <= self.terms.surprises",
            "one comparison after the last surprise",
        ),
        ("self.watches if self.checked else ()", "self.watches", "answers that were not compared have an interval"),
    ),
    *at(
        _ROOM,
        "Online._surprised",
        ("del self.watches[side]", "", "a threshold that was passed stays"),
        ("del self.watches[side]", "self.watches.clear()", "a pass on one side ends the other"),
        ("self.surprises += 1", "", "surprises are not counted"),
        (
            "self.history.append(found)",
            "self.history.__setitem__(slice(None), [found])",
            "the model learns from the last surprise alone",
        ),
    ),
    *at(
        _ROOM,
        "Online._measured",
        ("self.terms.answer", "self.terms.threshold", "an answer is drawn at the price of a threshold"),
        ("self.journal.begin(mechanism.event, (block,))", "None", "an answer is drawn before the ledger knows"),
        (
            "[[side], *(values.tolist() for values in found.values)]",
            "[[-side], *(values.tolist() for values in found.values)]",
            "the transcript names the other side",
        ),
    ),
    *at(
        _ROOM,
        "Online.open_watches",
        ("self.epochs += 1", "", "epochs are not counted"),
        ("self.journal.begin(epoch.event, ())", "None", "a threshold is drawn before the ledger knows"),
    ),
    *at(
        _ROOM,
        "SessionTerms.within",
        ("surprises + 1", "surprises", "one epoch more than was priced"),
        (
            "whole.times((1 - TUNING.thresholds) / surprises)",
            "whole.times((1 - TUNING.thresholds) / (surprises - 1 or 1))",
            "answers cost more than their share",
        ),
        ("Laplace() if whole.epsilon is not None else Gaussian()", "Gaussian()", "normal noise for pure epsilon"),
    ),
    *at(
        _ROOM,
        "SessionTerms.epochs",
        ("self.surprises + 1", "self.surprises + 2", "an epoch more than was paid"),
    ),
    *at(
        _ROOM,
        "SessionTerms.free",
        (
            "asked.step(self.unit) * (self.margin + self.slack(beta / 2))",
            "self.margin + self.slack(beta / 2)",
            "the interval of a weighted query is that of a count",
        ),
        (
            "asked.step(self.unit) * (self.margin + self.slack(beta / 2))",
            "asked.step(self.unit) * self.margin",
            "the interval leaves out the threshold's noise",
        ),
        ("-1 in live", "1 in live", "a lower end where only the upper side was compared"),
    ),
    *at(
        _ROOM,
        "table_of_parts",
        (
            "np.isin(row, (0, 1)).all()",
            "np.isin(row, (0, 1)).any()",
            "weighted queries are measured with their opposites",
        ),
    ),
    *at(
        _ROOM,
        "Replay.answers",
        ("sides.discard(surprise.side)", "sides.clear()", "a replayed pass ends both sides"),
        ("surprises += 1", "", "replayed surprises are not counted"),
        ("self.surprises[:start.measured]", "self.surprises[:start.surprises]", "a lost answer shifts the others"),
    ),
    *at(
        _ROOM,
        "restore_session",
        ("last.pop(side, None)", "None", "a threshold is used after the answer that passed it"),
        (
            "list(last) if draw.value is None else [draw.value[0][0]]",
            "[] if draw.value is None else [draw.value[0][0]]",
            "a lost answer ends no threshold",
        ),
        (
            "draw.value in (1, -1) and draw.event == terms.epoch(draw.value).event",
            "draw.value in (1, -1)",
            "a threshold of other noise is used",
        ),
        ("epochs += 1", "epochs = 1", "epochs of earlier processes are forgotten"),
        ("surprises += 1", "surprises = 1", "surprises of earlier processes are forgotten"),
        ("draw.number < session.document['draws']", "False", "what was measured first counts as surprises"),
    ),
    *at(
        _ROOM,
        "restore_session",
        ("asked[draw.number]", "asked[min(asked)]", "every noisy answer is of the first query"),
    ),
    *at(
        _ROOM,
        "SessionLock.settle",
        ("whole or self.journal.lost", "whole", "a lost draw comes back"),
        ("whole or self.journal.lost", "self.journal.lost", "a spoilt session comes back"),
        ("self.run.guard.events", "self.paid.events", "nothing comes back"),
    ),
    *at(
        _ROOM,
        "closing_session",
        ("held.spoilt or not opened", "not opened", "a spoilt session gets its rest back"),
        ("held.spoilt or not opened", "held.spoilt", "an opening that did not end gets its rest back"),
    ),
    *at(
        _ROOM,
        "lock_session",
        ("any((draw.value is None for draw in past))", "False", "a draw that an earlier process lost is forgotten"),
        ("looked=True", "looked=False", "an error after rows were looked at comes back"),
    ),
    *at(
        _ROOM,
        "_session_filters",
        (
            '(filter_of(stated["accountant"], budget).filter(budget), paid.guard())',
            "(paid.guard(),)",
            "the guarantee's own filter is left out",
        ),
    ),
    *at(
        _ROOM,
        "filter_of",
        ("not isinstance(found, FilterAccountant)", "found is None", "accountants of fixed schedules are taken"),
    ),
    *at(
        _ROOM,
        "SessionDocument.limits",
        ("Limits(**self.document['limits'])", "Limits()", "later questions read under the usual limits"),
    ),
    *at(
        _ROOM,
        "SessionDocument.reading",
        ("limits=self.limits", "limits=Limits()", "the table is read under the usual limits"),
    ),
    *at(
        _ROOM,
        "continue_journal",
        ("file.digest_of(lines) != run.transcript", "False", "an edited transcript goes on"),
        ("run.lost is not None", "False", "a draw that was begun is made again"),
        ("file.cut(lines)", "None", "lines that the ledger does not know are read"),
        ("BEFORE + run.recorded", "BEFORE + max(run.recorded - 1, 0)", "the last draw that is known is forgotten"),
    ),
    *at(
        _ROOM,
        "LedgerJournal.past",
        ("drawn.get('event') != _plain(event)", "False", "a draw of another event is taken"),
        (
            "drawn.get('value') is not None and drawn.get('of') != blocks_digest(blocks)",
            "False",
            "answers to other queries are taken",
        ),
        ("self.number += 1", "", "every draw is the first"),
    ),
    *at(
        _ROOM,
        "LedgerJournal.lose",
        ("self.known + 1", "self.known", "a lost draw is made again"),
    ),
    *at(
        _ROOM,
        "LedgerJournal._record",
        (
            "self.ledger.record(self.paid, number=self.number, transcript=self.file.digest)",
            "None",
            "the ledger does not learn what was drawn",
        ),
    ),
    *at(
        _ROOM,
        "LedgerJournal.same_table",
        (
            "isinstance(found, str) and mark is not None and hmac.compare_digest(found, mark)",
            "True",
            "another table goes on",
        ),
    ),
    *at(
        _ROOM,
        "PredictionSessionDocument.left",
        ("len(self.held.past) - int(self.document['draws'])", "len(self.answers)", "lost draws of points come back"),
    ),
    *at(
        _ROOM,
        "PredictionSessionDocument.draw",
        ("len(new) > self.left", "len(new) > self.paid", "more points than were paid for"),
        ("held.journal.begin(event, ())", "None", "a point is drawn before the ledger knows"),
    ),
    *at(
        _ROOM,
        "PredictionSessionDocument.records",
        (
            "declared if declared is not None else self.counted or 1",
            "self.counted or 1",
            "the declared number of records is forgotten",
        ),
    ),
    *at(
        _ROOM,
        "distinct",
        ("point not in known", "True", "a point that has an answer is drawn again"),
    ),
    *at(
        _ROOM,
        "Online.open_watches",
        ("self.epochs < self.terms.epochs", "True", "more thresholds than were paid for"),
        ("self.epochs < self.terms.epochs", "self.epochs <= self.terms.epochs", "one threshold more than was paid for"),
        (
            "self.epochs < self.terms.epochs",
            "self.epochs < self.terms.surprises",
            "one threshold fewer than was paid for",
        ),
    ),
    *at(
        _ROOM,
        "load_thresholds",
        ("secret.get(ASKS) != asks", "False", "thresholds of an older copy are compared again"),
        ("secret.get(ASKS) != asks", "secret.get(ASKS) < asks - 1", "thresholds of the ask before are compared again"),
    ),
    *at(
        _ROOM,
        "QuestionWriter.seal",
        ("self.folder.blank()", "None", "thresholds stay on the disk while answers are compared"),
        ("self.asks += 1", "", "thresholds are kept as those of the ask before"),
        ("self.log.say(line, durable=True)", "None", "an ask is not in the log"),
    ),
    *at(
        _ROOM,
        "QuestionWriter.end",
        (
            "store_thresholds(self.folder, self.asks, self.thresholds)",
            "store_thresholds(self.folder, self.asks - 1, self.thresholds)",
            "thresholds that go on are lost",
        ),
    ),
    *at(
        _ROOM,
        "has_failed_question",
        ("begun > ended", "False", "a question that a kill has ended gets its rest back"),
        ("begun > ended", "begun > ended + 1", "one question may end without an answer"),
    ),
    *at(
        _ROOM,
        "answer_queries",
        (
            "asking.keep(thresholds_of(online.watches))",
            "None",
            "thresholds that were not passed are lost",
        ),
    ),
    *at(
        _ROOM,
        "process_start",
        ("len(online.history)", "online.surprises", "a process says that it knew answers that were lost"),
    ),
    *at(
        _ROOM,
        "Replay.answers",
        ("self.surprises[len(found)].query is not query", "False", "a noisy answer of another query"),
    ),
)
