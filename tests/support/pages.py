"""Pages in tests: a small release to make one of, and what every page has to be."""

from __future__ import annotations

import re
from fractions import Fraction
from html.parser import HTMLParser
from itertools import pairwise

from dpqr.kernel.budget import Cost, PrivacyBudget
from dpqr.kernel.unit import Neighbours
from dpqr.ledger.ledger import Account, BudgetTerms, DataKind
from dpqr.releases.record.release_document import release_document
from dpqr.report.page.parts import ChargeRow, Spending
from dpqr.report.reports import reported_release
from support.handmade_release import make_release

VOID = {"meta", "br"}


def made(**record):
    """The handmade release, with fields of its record replaced; None takes a field away."""
    release = make_release()
    stated = {**release_document(release), **record}
    return reported_release(release, {name: part for name, part in stated.items() if part is not None})


def spending(spent=3, limit=4):
    terms = BudgetTerms(
        dataset="survey",
        budget=PrivacyBudget(epsilon=Fraction(limit)),
        accountant="basic",
        limit=Cost(Fraction(limit)),
        cap=None,
        neighbours=Neighbours.ADD_REMOVE,
        unit="row",
        kind=DataKind.PRIVATE,
    )
    charges = [ChargeRow(number=2 * n, date="2026-11-22", cost=Cost(Fraction(1)), own=n == 1) for n in range(spent)]
    return Spending(account=Account(terms=terms, spent=Cost(Fraction(spent)), reservations=spent), charges=charges)


class Read(HTMLParser):
    """A page's elements in order, as (tag, attributes, text); and what was left open or crossed."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.crossed, self.inside = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), []))
        if tag not in VOID:
            self.open.append(tag)
            self.inside.append(len(self.elements) - 1)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), []))

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.crossed.append(tag)
            return
        self.open.pop()
        self.inside.pop()

    def handle_data(self, data):
        for place in self.inside:
            self.elements[place][2].append(data)

    def all_of(self, *tags):
        return [(tag, given, "".join(text).strip()) for tag, given, text in self.elements if tag in tags]


def require_accessible(text):
    """Language, title, one h1, no skipped heading; alternatives of charts; heads of tables; names that are unique."""
    read = Read(text)
    assert (read.open, read.crossed) == ([], [])
    assert read.all_of("html")[0][1]["lang"] == "en"
    assert read.all_of("title")[0][2]
    levels = [int(tag[1]) for tag, _, _ in read.all_of("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all(title for _, _, title in read.all_of("h1", "h2", "h3"))
    charts = [given for _, given, _ in read.all_of("div") if given.get("role") == "img"]
    assert len(charts) == len(read.all_of("svg"))
    assert all(len(given["aria-label"]) > 20 for given in charts)
    tables = read.all_of("table")
    assert len(tables) == len(read.all_of("caption"))
    assert all(caption for _, _, caption in read.all_of("caption"))
    assert all(given.get("scope") in ("col", "row") for _, given, _ in read.all_of("th"))
    names = [given["id"] for _, given, _ in read.elements if "id" in given]
    assert len(names) == len(set(names))
    links = [given["href"] for _, given, _ in read.all_of("a")]
    assert {link.removeprefix("#") for link in links} <= set(names)
    used = re.findall(r"url\(#(\w+)\)", text) + re.findall(r'<use [^>]*href="#(\w+)"', text)
    assert set(used) <= set(names)


def require_alone(text):
    """No script, nothing from elsewhere, nothing that could ask for it."""
    read = Read(text)
    assert read.all_of("script", "link", "iframe", "object", "embed", "base", "form") == []
    for tag, given, _ in read.elements:
        assert not [name for name in given if name.startswith("on")], tag
        for name in ("src", "href", "action", "poster", "srcset"):
            assert given.get(name, "#").startswith(("#", "data:image/png;base64,")), (tag, given[name])
    assert re.findall(r"@import|url\((?!#)", text) == []
    assert re.findall(r"https?://|//[a-z]+\.", text) == []
