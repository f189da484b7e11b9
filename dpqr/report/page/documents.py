"""The chapters of a release's documents: synthetic rows, domain and queries, hashes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from shlex import quote

from dpqr.kernel.budget import upward_text
from dpqr.kernel.values import replace
from dpqr.kernel.wording import amount, count_words
from dpqr.report.page.parts import (
    NOT_STATED,
    ChecklistLine,
    Checks,
    Facts,
    Items,
    Paragraph,
    Part,
    ReportInput,
    ReportTable,
    Section,
    State,
    but_for_learned,
    protected_unit,
)

LONGEST, QUERIES = 240, 200
"""Signs of a list of labels or rules, and queries that are written out."""


def synthetic_section(found: ReportInput) -> Section:
    """A preview of synthetic rows, and what was moved to make them."""
    made = found.record["synthetic"]
    lines = []
    if "rows" in made:
        lines.append(("Rows", f"{made['rows']:,}"))
    if "records_a_row" in made:
        lines.append(("Each stands for", f"{made['records_a_row']:.4g} records"))
    if isinstance(made.get("moved"), int | float):
        moved = f"{amount(float(made['moved']))} records, to make whole rows that agree with the answers"
        lines.append(("Moved", moved))
    lines.append(("Form", f"{made.get('form', NOT_STATED)}; bins by {made.get('bins', NOT_STATED)}"))
    lines.append(("Public seed", str(made.get("seed", NOT_STATED))))
    parts: list[Part] = [
        Paragraph(
            text="Synthetic rows are drawn from the released model, not from the table: no row is anybody's. They "
            "agree with the estimates above, and are no better than these; what nobody asked about they do not hold."
        ),
        Facts(lines=lines),
    ]
    if found.preview:
        count = len(found.preview.rows)
        caption = f"The first {count_words(count, 'synthetic row')}"
        preview = ReportTable(
            caption=caption, head=found.preview.columns, rows=found.preview.rows, texts=len(found.preview.columns)
        )
        parts.append(preview)
    return Section(name="synthetic", title="Synthetic rows", parts=parts)


def domain_section(found: ReportInput) -> Section:
    """Columns and rules, public facts, and what was asked."""
    domain = found.plan.get("domain") or {}
    document = found.domain
    fields = {field.get("name"): field for field in document.get("fields") or () if isinstance(field, dict)}
    rows = []
    for column in domain.get("columns") or ():
        field = fields.get(column["name"]) or {}
        limits, own = field.get("constraints") or {}, field.get("dpqr") or {}
        stated = {**limits, **{key: own[key] for key in ("edges", "width", "every", "points", "closed") if key in own}}
        values = [f"{key} {value}" for key, value in stated.items()]
        if "enum" in limits:
            values = [str(value) for value in limits["enum"]]
        rules = [f"{key}: {own[key]}" for key in ("null", "outside", "otherwise") if key in own]
        rules = rules or [f"a cell for {name}" for name in column["own_cells"]]
        figures = (_short(", ".join(values)), ", ".join(rules), f"{column['cells']:,}")
        rows.append((column["name"], column["kind"], *figures))
    unsaid = "" if fields else "; labels and rules stand in the domain file, which this record does not hold"
    parts: list[Part] = [
        Paragraph(
            text=f"Everything here was fixed in public before the table was opened: "
            f"{count_words(len(domain.get('columns') or ()), 'column')}, {domain.get('cells', 0):,} cells in all."
            f"{but_for_learned(found.plan)}"
        ),
        ReportTable(
            caption=f"Columns{unsaid}", head=("column", "kind", "values", "rules", "cells"), rows=rows, texts=4
        ),
    ]
    if facts := domain.get("facts"):
        impossible = [("Impossible", text) for text in facts.get("impossible") or ()]
        totals = [("Public total", f"{each['where']}: {each['count']:,}") for each in facts.get("totals") or ()]
        parts.append(Facts(lines=(*impossible, *totals)))
    if notes := request_notes(found):
        parts.append(Facts(lines=tuple(("Asked", note) for note in notes)))
    workload = found.plan.get("workload") or {"queries": 0, "blocks": ()}
    asked = [*workload["blocks"], *(found.plan.get("person_tables") or ())]
    queries = f"{sum(block['queries'] for block in asked):,} queries"
    parts.append(
        ReportTable(
            caption=f"What was asked: {queries} in {count_words(len(asked), 'block')}",
            head=("block", "columns", "answers", "weight"),
            rows=[
                (block["name"], ", ".join(block["columns"]), f"{block['queries']:,}", str(block.get("weight", "")))
                for block in asked
            ],
            texts=2,
        )
    )
    written = found.document("queries")
    if written is None:
        absent = "The text of the queries stands in the queries file, which this record does not hold."
        parts.append(Paragraph(text=absent))
    else:
        entries = written.get("queries") or ()
        parts.append(Paragraph(text="The same as the queries file says it:"))
        parts.append(
            Items(lines=[_short(json.dumps(entry, ensure_ascii=False)) for entry in entries[:QUERIES]], code=True)
        )
        if entries[QUERIES:]:
            more = count_words(len(entries) - QUERIES, "more query")
            parts.append(Paragraph(text=f"... and {more}, in the record."))
    return Section(name="domain", title="Domain, rules and queries", parts=parts, folded=True)


def request_notes(found: ReportInput) -> list[str]:
    """What the request noted of itself, such as options that dpqr.toml has stated: of no weight for the figures."""
    return list((found.plan.get("request") or {}).get("notes") or ())


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def verify_section(found: ReportInput) -> Section:
    """Hashes, and the commands that check them."""
    place, paid = quote(found.place), found.record.get("ledger")
    commands = [f"dpqr verify {place}"]
    if isinstance(paid, dict):
        commands.append(f"dpqr verify {place} --ledger LEDGER{' --plan PLAN' if found.stated('approved_by') else ''}")
    commands.append(f"dpqr show {place}")
    if found.hashes:
        commands.append(f"cd {place} && sha256sum {' '.join(map(quote, found.hashes))}")
    parts: list[Part] = [
        Paragraph(
            text="Anybody who has the release can check it. The commands below need no table and spend nothing. They "
            "recompute hashes, add every charged draw up again under every accountant, and derive answers and "
            "synthetic rows again from the noisy figures in the record."
        ),
        Items(lines=commands, code=True),
    ]
    if found.hashes:
        # Whether the record states the same hash. Its own it cannot hold; an older one holds none.
        stated, rows = found.record.get("hashes") or {}, []
        for name, digest in found.hashes.items():
            known = stated.get(name)
            rows.append(
                (name, digest, "" if known is None else "as recorded" if known == digest else "NOT AS RECORDED")
            )
        parts.append(
            ReportTable(
                caption="SHA-256 of the files of this release", head=("file", "SHA-256", ""), rows=rows, texts=3
            )
        )
    lines = []
    for name, holder in (("Record", found.record), ("Plan", found.plan)):
        if isinstance(holder.get("sha256"), str):
            lines.append((f"{name}, SHA-256 of its content", holder["sha256"]))
    if isinstance(paid, dict):
        lines += [("Ledger entry", f"{paid['entry']} of {paid['dataset']!r}"), ("Ledger seal", str(paid["seal"]))]
    versions = found.record.get("versions") or {}
    made = ", ".join(f"{name} {version}" for name, version in versions.items()) or NOT_STATED
    lines += [("Made with", made), ("Format", str(found.record.get("dpqr")))]
    parts.append(Facts(lines=lines))
    return Section(name="verify", title="Hashes, and how to verify", parts=parts, folded=True)


# A checklist after the layers of NIST SP 800-226: what the release states, what dpqr checks, and what nobody checked.
#
# References:
#     Near, Darais, Lefkovitz, Howarth: Guidelines for Evaluating Differential Privacy Guarantees. NIST SP 800-226,
#     2025.

LARGE, LARGE_DELTA = 3, Fraction(1, 10**6)
"""Figures from which on the checklist asks for a reason: a factor of 20, and a chance of one in a million."""


def checklist_section(found: ReportInput) -> Section:
    """Who stands for the release, and the three layers, from the claim down to what it stands on."""
    paid = found.record.get("ledger")
    circumstances = (
        ("Protected unit", found.stated("unit")),
        ("Published by", found.stated("publisher")),
        ("Asked for by", found.stated("by")),
        ("Approved by", found.stated("approved_by")),
        ("Purpose", found.stated("purpose")),
        ("Date", found.stated("date")),
        ("Table", str(paid["dataset"]) if isinstance(paid, dict) else None),
        ("Made by", f"dpqr {found.stated('version')}" if found.stated("version") else None),
    )
    claims, below = tuple(claim_checks(found)), tuple(_algorithms(found))
    ground = [
        replace(line, found=line.found + but_for_learned(found.plan)) if line.statement == PUBLIC else line
        for line in _GROUND
    ]
    states = [line.state for line in (*claims, *below, *ground)]
    summary = (
        f"Of {len(states)} points the program has checked {states.count('yes')}, and {states.count('part')} in part. "
        f"The other {states.count('no')} it cannot check: whoever publishes answers for them."
    )
    words = (
        "Ordered after the layers of NIST SP 800-226: a claim at the top is worth no more than what lies below it. "
        "The marks say what this program has checked; it is no certificate of NIST."
    )
    return Section(
        name="checklist",
        title="May it be published? The officer's checklist",
        parts=(
            Facts(lines=[(name, text) for name, text in circumstances if text]),
            Paragraph(text=f"{summary} {words}"),
            Checks(layer="The claim: parameters and unit", lines=claims),
            Checks(layer="Below it: algorithms, accuracy and side channels", lines=below),
            Checks(layer="What all of it stands on: trust, access and collection", lines=ground),
        ),
    )


def claim_checks(found: ReportInput) -> Iterator[ChecklistLine]:
    """Parameters and unit: what can be said of a plan, too."""
    if found.price is None:
        yield ChecklistLine(statement="Epsilon and delta are stated", state="no", found="The record states no budget.")
        return
    epsilon, delta = found.price
    size = "at most 3" if epsilon <= LARGE else "above 3, which needs a reason that this page does not give"
    yield _check("Epsilon is stated, exact, and small", epsilon <= LARGE, f"{upward_text(epsilon)}: {size}.")
    small = "a rare total failure is ruled out" if not delta else "it must be far below one over the number of rows"
    yield _check("Delta is 0 or tiny", delta <= LARGE_DELTA, f"{upward_text(delta)}; {small}.")
    unit = protected_unit(found.plan)
    if unit.columns:
        state: State = "part" if unit.group_privacy else "yes"
        text = f"Each {unit.named}, with at most {unit.rows} rows each; further rows were left out."
        text += " One person with several of them is protected less, by that many times." if unit.group_privacy else ""
    else:
        state = "part"
        text = (
            "Each row. Where one person has several rows, the protection of the person is weaker, by that many times."
        )
    yield ChecklistLine(statement="The unit of privacy is a person", state=state, found=text)
    if isinstance(found.record.get("ledger"), dict):
        state = "yes"
        text = "A ledger paid, and refuses what exceeds the table's budget. It knows of no release made without it."
    else:
        state, text = "no", "No ledger was used: earlier or later releases are not counted."
    yield ChecklistLine(statement="Releases of the same table are added up", state=state, found=text)


def _check(statement: str, passed: bool, found: str) -> ChecklistLine:
    return ChecklistLine(statement=statement, state="yes" if passed else "part", found=found)


def _algorithms(found: ReportInput) -> Iterator[ChecklistLine]:
    charged = (found.record.get("spent") or {}).get("charged", "the accountant")
    yield ChecklistLine(
        statement="Every draw is charged before it is made",
        state="yes" if found.record.get("private", True) else "no",
        found=f"One gate opens the table, and takes the price by {charged} first; every event stands below.",
    )
    yield ChecklistLine(
        statement="Noise is exact, and from a cryptographic source",
        state="yes" if found.record.get("private", True) else "no",
        found="Discrete noise of exact integers and rationals, by the operating system's randomness: no floating-point "
        "number decides a draw. dpqr audit attacks a build, and compares what is lost with what is claimed.",
    )
    yield ChecklistLine(
        statement="Errors and bias are stated",
        state="part",
        found="Each answer has its error, where one is known. Estimates can be biased, more so for small groups, whose "
        "relative errors are the largest. Whether a group is treated unfairly by that was not checked.",
    )
    dropped = found.record.get("dropped")
    if isinstance(dropped, dict):
        noise = dropped["law"]["deviation"]
        known = f"About {dropped['estimate']:,} (+-{noise:.3g}, noise) of {dropped['counts']}."
        yield ChecklistLine(statement="Rows that were left out are known", state="yes", found=known)
    else:
        unknown = "They were not counted. Answers speak of the rows that the domain's rules kept."
        yield ChecklistLine(statement="Rows that were left out are known", state="no", found=unknown)
    yield ChecklistLine(
        statement="Time, memory and machine reveal nothing",
        state="no",
        found="Not checked: how long a run takes and how much memory it uses may depend on the table. Do not let "
        "outsiders start runs and watch them, and keep the machine to yourself while it works.",
    )


PUBLIC = "Domain, rules and queries come from public knowledge"
_STANDS: tuple[tuple[str, State, str], ...] = (
    (
        "Trust model",
        "part",
        "Central: whoever runs the program sees the table. The promise is towards readers of the release, not "
        "towards the curator.",
    ),
    (
        PUBLIC,
        "no",
        "The program reads no value for them. Not checked: whether a person has looked at the table to write them.",
    ),
    (
        "Access to the table, its copies and its machine",
        "no",
        "Not checked: access control, encryption, logs and backups are the curator's.",
    ),
    (
        "Collection and consent",
        "no",
        "Not checked: what was collected, for which purpose, and how long it is kept; differential privacy "
        "protects nothing before it.",
    ),
    (
        "One person is one unit",
        "no",
        "Not checked: people who appear under several identities, households, and copies of the table elsewhere.",
    ),
    (
        "Other publications from the same table",
        "no",
        "Not checked: anything published without differential privacy is outside of every budget.",
    ),
)
_GROUND = tuple(ChecklistLine(statement=statement, state=state, found=text) for statement, state, text in _STANDS)
