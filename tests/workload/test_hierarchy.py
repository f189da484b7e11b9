"""Counts of every node of a hierarchy, against the records themselves."""

from __future__ import annotations

import numpy as np
import pytest

from dpqr.kernel.errors import DocumentError

PARENTS = {"F": "known", "M": "known", "X": "other", "known": "all", "other": "all"}
SEX = {
    "name": "sex",
    "type": "string",
    "constraints": {"enum": ["F", "M", "X"]},
    "parent": {"map": PARENTS, "levels": ["group", "top"]},
    "dpqr": {"null": "cell"},
}
DOMAIN = {"fields": [SEX, {"name": "rich", "type": "boolean"}]}


def test_a_block_a_level_counts_the_records_of_every_node(ask, database) -> None:
    document = ask({"hierarchy": "sex", "by": ["rich"]}, domain=DOMAIN)
    data = database(document.domain)
    names = ["hierarchy(sex: top) by rich", "hierarchy(sex: group) by rich", "hierarchy(sex) by rich"]
    assert [block.name for block in document.workload.blocks] == names
    above = {"(null)": "(null)"} | PARENTS
    nodes = {0: ["all", "(null)"], 1: ["known", "other", "(null)"], 2: ["F", "M", "X", "(null)"]}
    for level, block in enumerate(document.workload.blocks):
        answers = np.array(block.answer(data.histogram)).reshape(2, -1)
        for rich in (0, 1):
            for place, node in enumerate(nodes[level]):

                def held(cell, node=node, rich=rich) -> bool:
                    title = cell["sex"][1]
                    return cell["rich"][0] == rich and node in (title, above[title], above.get(above[title]))

                assert answers[rich, place] == data.total(held)


def test_only_records_that_fulfil_a_predicate_count(ask, database) -> None:
    of_one = ask({"hierarchy": "sex", "by": ["rich"], "where": "sex != 'M'", "name": "h"}, domain=DOMAIN)
    data = database(of_one.domain)
    for block, name in zip(of_one.workload.blocks, ("h top", "h group", "h sex"), strict=True):
        held = data.total(lambda cell: cell["sex"][1] in ("F", "X") and cell["rich"][0] in (0, 1))
        assert (block.name, int(block.answer(data.histogram).sum())) == (name, held)
    (country,) = ask({"hierarchy": "sex", "levels": ["top"], "where": "rich = true"}, domain=DOMAIN).workload.blocks
    assert country.name == "hierarchy(sex: top) where rich = true"


def test_levels_are_chosen_and_a_name_is_put_before_each(ask) -> None:
    document = ask({"hierarchy": "sex", "levels": ["sex", "top"], "name": "people", "weight": 3}, domain=DOMAIN)
    assert [(block.name, block.weight) for block in document.workload.blocks] == [("people top", 3), ("people sex", 3)]
    assert document.workload.blocks[0].factors[0].labels == ("all", "(null)")


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"hierarchy": "rich"}, r"\.hierarchy: column 'rich' has no levels above its cells; state its 'parent'"),
        ({"hierarchy": "sexx"}, r"\.hierarchy: the domain has no column 'sexx'; did you mean 'sex'"),
        ({"hierarchy": "sex", "by": ["sex"]}, r"\.by\[0\]: the column 'sex' is what this entry asks about"),
        ({"hierarchy": "sex", "levels": ["grup"]}, r"\.levels\[0\]: 'grup' is no level .* did you mean 'group'"),
        ({"hierarchy": "sex", "levels": ["top", "top"]}, r"\.levels\[1\]: the level 'top' stands twice"),
        ({"hierachy": "sex"}, r"unknown kind 'hierachy'; did you mean 'hierarchy'"),
    ],
)
def test_wrong_entries(ask, entry, said) -> None:
    with pytest.raises(DocumentError, match=said):
        ask(entry, domain=DOMAIN)
