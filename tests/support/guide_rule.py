"""The update rule that the guide prints, as a module of a third party's package."""

from support.guide_pages import topic

EXTENDING = topic("extending").text
RULE, TEST, LOSS, LEARNER, ENGINE = topic("extending").all_of("python")


def readme_rule():
    """The class, from the text alone."""
    return made_of(RULE, "Hedge")


def made_of(text, name):
    """A class of a text of the guide."""
    space = {"__name__": "guide_rule"}
    exec(compile(text, "extending.md", "exec"), space)
    return space[name]
