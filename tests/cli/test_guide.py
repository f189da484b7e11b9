"""The guide on the command line, and in a wheel."""

from __future__ import annotations

import json
import os
import re

import pytest
from cli.test_terminal import watched
from support.guide_pages import topic

from dpqr.report.guide import EVERY_TOPIC, REFERENCE, TOPICS

COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def test_without_a_topic_every_topic_is_listed_with_what_it_holds(desk):
    ended = desk.run("guide")
    assert ended.code == 0
    guide, _, reference = ended.out.partition("\n\nreference\n")
    assert [line.split()[0] for line in guide.splitlines()] == list(TOPICS)
    assert [line.split()[0] for line in reference.splitlines()] == list(REFERENCE)
    lines = [*guide.splitlines(), *reference.splitlines()]
    assert all(len(line.split()) > 4 and len(line) <= 120 for line in lines)
    assert "dpqr guide TOPIC" in ended.err


@pytest.mark.parametrize("name", EVERY_TOPIC)
def test_a_topic_in_a_pipe_is_its_markdown(desk, name):
    ended = desk.run("guide", name)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.rstrip("\n") == topic(name).text.rstrip("\n")


def test_search_prints_topic_heading_and_line(desk):
    ended = desk.run("guide", "--search", "DPQR_ANCHOR")
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert any(line.startswith("ledger: Anchors: rollbacks of the ledger: `--anchor FILE`") for line in lines)
    assert all("dpqr_anchor" in line.casefold() for line in lines)


def test_search_in_one_topic_whatever_the_case(desk):
    ended = desk.run("guide", "audit", "--search", "BREACH")
    assert {line.partition(":")[0] for line in ended.out.splitlines()} == {"audit"}
    assert ended.out == desk.run("guide", "audit", "--search", " breach ").out


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="pseudo-terminals are for POSIX systems")
@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (("guide", "domain"), "Rules for values that fit no cell"),
        (("guide", "ledger", "--search", "rollbacks"), "ledger: Anchors: rollbacks of the ledger:"),
    ],
    ids=["topic", "search"],
)
def test_on_a_terminal_it_is_rendered(desk, arguments, shown):
    code, sent = watched(desk, *arguments, columns=90, CI="1")
    assert code == 0
    assert COLOURS.search(sent)
    plain = COLOURS.sub("", sent)
    assert shown in plain
    assert "```" not in plain
    assert "\n## " not in plain
    assert max(map(len, plain.splitlines())) <= 90
    code, sent = watched(desk, *arguments, "--no-color", columns=90, CI="1")
    assert code == 0
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", sent)


@pytest.mark.parametrize("number", [0, 1], ids=["small", "every kind"])
def test_the_documents_of_the_guide_are_sound_together(desk, number):
    queries = json.loads(topic("queries").all_of("json")[number])
    queries["queries"] = [entry for entry in queries["queries"] if "coefficients" not in entry]
    desk.put("domain.json", json.loads(topic("domain").all_of("json")[number]))
    desk.put("queries.json", queries)
    ended = desk.run("check", "--queries", "queries.json")
    assert ended.code == 0, ended.err
