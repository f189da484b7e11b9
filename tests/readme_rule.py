"""The update rule that README prints, as a module of a third party's package."""

import re
from pathlib import Path

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
RULE, TEST = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def readme_rule():
    """The class, from the text alone."""
    space = {"__name__": "readme_rule"}
    exec(compile(RULE, "README.md", "exec"), space)
    return space["Hedge"]
