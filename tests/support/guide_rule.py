"""The update rule that the guide prints, as a module of a third party's package."""

from support.guide_pages import topic

EXTENDING = topic("extending").text
RULE, TEST, ENGINE = topic("extending").all_of("python")


def readme_rule():
    """The class, from the text alone."""
    space = {"__name__": "guide_rule"}
    exec(compile(RULE, "extending.md", "exec"), space)
    return space["Hedge"]
