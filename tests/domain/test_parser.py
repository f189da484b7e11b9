import random
import re

import pytest

from dpqr.domain.predicates import And, ColumnComparison, Constant, IsFault, Node, Not, Or, parse
from dpqr.domain.text.decoding import Location
from dpqr.kernel.errors import DocumentError

PLACE = Location("q.json", "$.queries[0].where")


def shown(node: Node) -> str:
    """A tree as text, every operator in brackets."""
    match node:
        case ColumnComparison(column, operator, Constant(_, text)):
            return f"{column}{operator}{text}"
        case IsFault(column, fault):
            return f"{column}?{fault}"
        case Not(part):
            return f"!{shown(part)}"
        case And(parts):
            return f"({' & '.join(map(shown, parts))})"
        case Or(parts):
            return f"({' | '.join(map(shown, parts))})"


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a = 1", "a=1"),
        ("a = 1 or b = 2 and c = 3", "(a=1 | (b=2 & c=3))"),
        ("(a = 1 or b = 2) and c = 3", "((a=1 | b=2) & c=3)"),
        ("not a = 1 and b = 2", "(!a=1 & b=2)"),
        ("not (a = 1 and b = 2)", "!(a=1 & b=2)"),
        ("not not a = 1", "!!a=1"),
        ("a != 'x'", "!a=x"),
        ("a in (1, 2)", "(a=1 | a=2)"),
        ("a not in ('x')", "!(a=x)"),
        ("a between 1 and 2 and b = 3", "((a>=1 & a<=2) & b=3)"),
        ("a NOT BETWEEN 1 AND 2", "!(a>=1 & a<=2)"),
        ("a is null or a is not outside", "(a?null | !a?outside)"),
        ("a = true", "a=true"),
        ("a < 1 and a <= 2 and a > 3 and a >= 4", "(a<1 & a<=2 & a>3 & a>=4)"),
    ],
)
def test_trees(text: str, tree: str) -> None:
    assert shown(parse(text, PLACE)) == tree


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "character 1: expected a column name"),
        ("a", "character 2: expected a comparison"),
        ("a =", "character 4: expected a number or 'text', got the end"),
        ("a = b", "expected a number or 'text'; text stands in single quotes, got 'b'"),
        ("5 < a", "character 1: expected a column name"),
        ("'x' = a", "the column comes first"),
        ("a = 1 b = 2", "character 7: expected `and`, `or` or the end, got 'b'"),
        ("a = 1 and", "character 10: expected a column name"),
        ("(a = 1", "character 7: expected `)`, got the end"),
        ("a = 1)", "character 6: expected `and`, `or` or the end"),
        ("a in 1", "expected `(` and a list of constants"),
        ("a in ()", "expected a number or 'text'"),
        ("a in (1 2)", "expected `,` or `)`"),
        ("a in (1", "expected `,` or `)`"),
        ("a between 1 or 2", "expected `and` and the upper end"),
        ("a not = 1", "expected `in` or `between`"),
        ("a is 1", "expected the name of an own cell (null, unparsable"),
        ("a is not", "expected the name of an own cell"),
        ("a is missing", "expected the name of an own cell"),
        ("(" * 60 + "a = 1" + ")" * 60, "nested deeper than 50"),
        ("not " * 60 + "a = 1", "nested deeper than 50"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_character(text: str, expected: str) -> None:
    with pytest.raises(DocumentError) as caught:
        parse(text, PLACE)
    assert str(caught.value).startswith("q.json: $.queries[0].where: at character ")
    assert expected in str(caught.value)


def refusal(text: str) -> str:
    try:
        parse(text, PLACE)
    except DocumentError as error:
        return str(error)
    return ""


def test_any_change_of_a_predicate_is_read_or_refused_at_its_character() -> None:
    sound = re.findall(r"\S+", "not ( a >= 3 or b in ( 'x' , 'y' ) ) and a between 1 and 2 and b is not null")
    chance = random.Random(5)
    refused = 0
    for _ in range(3000):
        words = list(sound)
        for _ in range(chance.choice((1, 2))):
            words[chance.randrange(len(words))] = chance.choice([*sound, "", ";", "'"])
        message = refusal(" ".join(words))
        refused += bool(message)
        assert not message or message.startswith("q.json: $.queries[0].where: at character "), words
    assert 500 < refused < 2900
