from support.plain_screen import printed

from dpqr.report.guide import guide_view


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
