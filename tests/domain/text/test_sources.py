"""The public form of documents: the same for the same content, and nothing lost on the way back."""

import hashlib
import json
from decimal import Decimal

import pytest
from support.cases import in_one_test

from dpqr.domain.text.sources import parse_plain, plain, public_documents, states_domain
from dpqr.kernel.errors import DocumentError, UsageFault
from dpqr.workload.queries_file import read_queries

QUERIES = [{"marginal": ["a"], "weight": 0.5}, {"where": "a < 0.5"}]
DOMAIN = {"fields": [{"name": "a", "type": "number", "dpqr": {"edges": [0, 0.5, 2.25]}}]}


def public(queries, domain=None):
    return public_documents(read_queries(queries, domain).sources)


def test_one_content_has_one_form(tmp_path):
    (tmp_path / "one.json").write_text(json.dumps({"dpqr": "queries/1", "domain": DOMAIN, "queries": QUERIES}))
    (tmp_path / "queries.yaml").write_text(
        "queries:\n- weight: 0.5\n  marginal: [a]\n- where: a < 0.5\ndomain: domain.toml\n"
    )
    (tmp_path / "domain.toml").write_text(
        '[[fields]]\ntype = "number"\nname = "a"\n[fields.dpqr]\nedges = [0, 0.50, 2.25]\n'
    )
    forms = [
        public(tmp_path / "one.json"),
        public(tmp_path / "queries.yaml"),
        public(tmp_path / "one.json", tmp_path / "domain.toml"),
        public({"queries": QUERIES}, DOMAIN),
    ]
    assert len({json.dumps([each.queries, each.domain], sort_keys=True) for each in forms}) == 1
    assert forms[0].queries == {"queries": QUERIES}
    assert forms[0].domain == DOMAIN


LONG = Decimal("0.1234567890123456789")


@in_one_test(
    "value", [0, -3, 2**80, 0.5, Decimal("0.5"), Decimal("1E+5"), LONG, True, None, "x", [LONG, {"a": [1, "$decimal"]}]]
)
def test_numbers_keep_their_value(value):
    assert parse_plain(json.loads(json.dumps(plain(value)))) == value


def test_what_is_no_json_is_refused():
    with pytest.raises(DocumentError, match="holds a set"):
        plain({"edges": {1}})
    for wrong in ("x", None, [1]):
        with pytest.raises(DocumentError, match="no decimal number"):
            parse_plain({"$decimal": wrong})


def test_a_file_of_coefficients_is_named_by_its_content(tmp_path):
    (tmp_path / "w.csv").write_text("a,coefficient\n0,1\n1,0.5\n")
    digest = hashlib.sha256((tmp_path / "w.csv").read_bytes()).hexdigest()
    (tmp_path / "q.json").write_text(json.dumps({"queries": [{"coefficients": "w.csv"}], "domain": {"a": 2}}))
    found = public(tmp_path / "q.json")
    assert found.queries == {"queries": [{"name": "coefficients(w.csv)", "coefficients": f"{digest}.csv"}]}
    assert list(found.files) == [f"{digest}.csv"]
    sources = read_queries(tmp_path / "q.json").sources
    (tmp_path / "w.csv").unlink()
    with pytest.raises(UsageFault, match="cannot read"):
        public_documents(sources)


def test_whether_queries_state_a_domain(tmp_path):
    (tmp_path / "q.json").write_text(json.dumps({"queries": QUERIES, "domain": "d.json"}))
    assert states_domain(str(tmp_path / "q.json"))
    assert not states_domain({"queries": QUERIES})
