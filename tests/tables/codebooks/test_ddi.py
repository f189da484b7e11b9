"""DDI-Codebook: variables, and what is never read of them; hostile XML."""

from __future__ import annotations

import pytest
from support.cases import in_one_test
from support.codebooks import SAMPLES, fields_of

from dpqr.domain.text.decoding import Location
from dpqr.kernel.errors import DocumentError, UsageFault
from dpqr.tables.codebooks.ddi import read_ddi

LAUGHS = """<!DOCTYPE codeBook [<!ENTITY a "SECRET"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>
<codeBook><dataDscr><var name="&b;"/></dataDscr></codeBook>"""
OUTSIDE = """<!DOCTYPE codeBook [<!ENTITY a SYSTEM "file:///etc/hostname">]>
<codeBook><dataDscr><var name="x"><labl>&a;</labl></var></dataDscr></codeBook>"""


def read(*variables):
    return read_ddi(f"<codeBook><dataDscr>{''.join(variables)}</dataDscr></codeBook>".encode(), Location("c.xml"))


def categories(*values):
    return "".join(f"<catgry><catValu>{value}</catValu></catgry>" for value in values)


NUMERIC = '<varFormat type="numeric"/>'


@in_one_test(
    ("inside", "field"),
    [
        (categories("1", "2"), {"type": "integer", "constraints": {"enum": [1, 2]}}),
        (categories("01", "02"), {"type": "string", "constraints": {"enum": ["01", "02"]}}),
        (categories(" a  b ", "c"), {"type": "string", "constraints": {"enum": ["a b", "c"]}}),
        (NUMERIC, {"type": "number"}),
        ('<varFormat type="character"/>', {"type": "string"}),
        ("", {}),
        (
            '<valrng><range UNITS="INT" minExclusive="0" max="9"/><range min="20" maxExclusive="30"/></valrng>',
            {"type": "integer", "constraints": {"minimum": 1, "maximum": 29}},
        ),
        (
            f'<valrng><range UNITS="REAL" min="0.5"/></valrng>{categories("98", "99")}',
            {"type": "number", "constraints": {"minimum": 0.5}},
        ),
        ('<valrng><item VALUE="1"/><item VALUE="3"/></valrng>', {"type": "integer", "constraints": {"enum": [1, 3]}}),
        (
            f'<invalrng><item VALUE="9"/></invalrng>{categories("1", "9")}',
            {"type": "integer", "constraints": {"enum": [1]}, "missingValues": ["", "9"]},
        ),
    ],
)
def test_variables(inside, field):
    (found,) = read(f'<var name="a">{inside}</var><var name="b"/>')
    assert fields_of(found)["a"] == field


def test_ranges_of_both_ends_are_joined_and_titles_that_two_values_share_are_left_out():
    (found,) = read('<var name="a"><valrng><range min="3" max="4"/><range min="1" max="2"/></valrng></var>')
    assert fields_of(found)["a"]["constraints"] == {"minimum": 1, "maximum": 4}
    alike = "".join(f"<catgry><catValu>{value}</catValu><labl>x</labl></catgry>" for value in (1, 2))
    (found,) = read(f'<var name="a">{alike}</var>')
    assert fields_of(found)["a"] == {"type": "integer", "constraints": {"enum": [1, 2]}}


def test_frequencies_and_statistics_are_never_read():
    counted = "<catgry><catValu>x</catValu><catStat type='freq'>1234</catStat></catgry>"
    statistics = (
        "<sumStat type='min'>1234</sumStat><sumStat type='max'>1234</sumStat><sumStat type='vald'>1234</sumStat>"
    )
    for inside in (counted + statistics, f'<varFormat type="numeric"/>{statistics}'):
        assert "1234" not in str(read(f'<var name="a">{inside}</var>'))


@in_one_test("text", [LAUGHS, OUTSIDE])
def test_a_document_type_is_refused_before_any_entity_is_read(text):
    with pytest.raises(DocumentError, match=r"c\.xml: .*has a document type") as refused:
        read_ddi(text.encode(), Location("c.xml"))
    assert "SECRET" not in str(refused.value)


def test_what_is_no_xml_is_refused_with_its_line_and_a_variable_has_a_name():
    encoded = '<?xml version="1.0" encoding="no-such"?><a/>'
    for text in ("<a>", "<a/>&", "<a", encoded, "<a>\0</a>", "<a>&b;</a>"):
        with pytest.raises(DocumentError, match=r"c\.xml: \$: (not XML at line 1|not XML)"):
            read_ddi(text.encode(), Location("c.xml"))
    with pytest.raises(DocumentError, match="the variable number 2 has no name"):
        read('<var name="a"/><var/>')


def test_files_are_tables(given):
    files = '<fileDscr ID="F1"><fileTxt><fileName>one</fileName></fileTxt></fileDscr><fileDscr ID="F2"/>'
    text = f'<codeBook>{files}<dataDscr><var name="a" files="F1 F2"/><var name="b" files="F2"/></dataDscr></codeBook>'
    assert list(fields_of(given(text, table="one"))) == ["a"]
    assert list(fields_of(given(text, table="F2"))) == ["a", "b"]
    with pytest.raises(UsageFault, match="describes 2 tables; choose one by --table: one, F2"):
        given(text)


def test_codes_that_mean_missing_are_null_texts():
    (found,) = read_ddi((SAMPLES / "clinic.ddi.xml").read_bytes(), Location("c"))
    wards = enumerate(("north", "south", "intensive care"), 1)
    categories = [{"value": value, "label": label} for value, label in wards]
    ward = {"type": "integer", "title": "Ward of admission", "categories": categories, "missingValues": ["", "9"]}
    assert fields_of(found)["ward"] == ward
