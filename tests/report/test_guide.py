"""The guide's topics, by name and by line."""

from __future__ import annotations

import pytest
from support.guide_pages import GUIDE, REFERENCE
from support.plain_screen import printed

from dpqr.kernel.errors import UsageFault
from dpqr.report.guide import REFERENCE as REFERENCE_TOPICS
from dpqr.report.guide import TOPICS, guide_view, read_topic, summary


def test_files_and_list_of_topics_agree():
    assert {page.name for page in GUIDE} == set(TOPICS)
    assert {page.name for page in REFERENCE} == set(REFERENCE_TOPICS)
    for page in [*GUIDE, *REFERENCE]:
        assert page.text.startswith(f"# {page.name}: ")


@pytest.mark.parametrize("page", [*GUIDE, *REFERENCE], ids=lambda page: page.name)
def test_an_example_stands_before_the_first_section(page):
    assert "\n```" in page.text.partition("\n## ")[0]


def test_the_guide_is_short():
    assert sum(len(page.text.encode()) for page in GUIDE) <= 180 * 1024


@pytest.mark.parametrize("page", REFERENCE, ids=lambda page: page.name)
def test_a_reference_topic_has_a_bound_of_its_own(page):
    assert len(page.text.encode()) <= 40 * 1024


def test_a_summary_is_what_stands_after_the_name():
    assert summary("audit") == read_topic("audit").split("\n")[0].removeprefix("# audit: ")


@pytest.mark.parametrize("name", ["", "README", "domain.md", "../errors", "/etc/passwd"])
def test_only_topics_are_read(name):
    with pytest.raises(UsageFault, match="no topic"):
        read_topic(name)


def test_headings_stand_on_the_left_and_words_are_whole():
    code = "```sh\ndpqr guide a-long-name another-name\n```\n"
    text = f"# topic: what it holds\n\n## Part\n\nWords, `code` and words.\n\n{code}"
    assert printed(guide_view(text), 24).splitlines() == [
        "topic: what it holds",
        "",
        "Part",
        "",
        "Words, code and words.",
        "",
        "",
        " dpqr guide a-long-name",
        " another-name",
        "",
    ]
