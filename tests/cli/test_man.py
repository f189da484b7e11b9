"""Manual pages: one a command, of the texts that --help prints, in roff that says what it means."""

from __future__ import annotations

import re
import shutil
import subprocess

import click
import pytest
from support.refusal_form import assert_refusal

from dpqr.cli.main import COMMANDS, main
from dpqr.cli.man import escaped, line, page_name, page_text, pages

MACROS = {".TH", ".SH", ".SS", ".PP", ".TP", ".B", ".nf", ".fi"}
PAGES = {page_name(page): page for page in pages(main)}


def test_every_command_has_a_page():
    assert {f"dpqr-{name}.1" for name in COMMANDS} | {"dpqr.1", "dpqr-budget-init.1"} <= set(PAGES)


def test_the_pages_are_written_and_none_is_overwritten(desk):
    ended = desk.run("man", "man1")
    assert (ended.code, ended.err) == (0, f"wrote {len(PAGES)} pages to man1\n")
    assert {path.name for path in (desk.path / "man1").iterdir()} == set(PAGES)
    assert_refusal(desk.run("man", "man1"), 8, "man1/dpqr.1: the file exists")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_what_help_says_in_known_macros(name):
    page = PAGES[name]
    text = page_text(page)
    lines = text.splitlines()
    assert text.isascii()
    assert {found.split()[0] for found in lines if found.startswith((".", "'"))} <= MACROS
    sections = [found for found in lines if found.startswith(".SH")]
    assert sections[:3] == [".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION"]
    for option in page.command.get_params(page):
        record = option.get_help_record(page) if isinstance(option, click.Option) else None
        if record:
            assert f".B {escaped(record[0])}" in lines
            assert line(" ".join(record[1].split())) in lines
    assert "\n.TP\n.SH" not in text
    assert "(1)" in lines[-1]


def test_the_exit_codes_stand_on_the_page_of_the_program():
    assert ".B 8\nthe output is there already; nothing was spent\n" in page_text(PAGES["dpqr.1"])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (".so /etc/passwd", "\\&.so /etc/passwd"),
        ("'tis", "\\&'tis"),
        ("a \\fB b", "a \\efB b"),
        ("--max-rows", "\\-\\-max\\-rows"),
        ('say "x"', "say \\(dqx\\(dq"),
    ],
)
def test_no_text_is_a_command(text, shown):
    assert line(text) == shown


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_groff_has_no_complaint():
    joined = "\n".join(page_text(page) for page in PAGES.values())
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-rLL=100n"], input=joined, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    shown = re.sub(r"\x1b\[\d*m|.\x08", "", done.stdout)
    assert "--max-rows K" in shown.replace("\u2010", "-").replace("\u2212", "-")
    assert r"CSV delimiter, ; or \t (a tab)" in shown
