"""Plans through the Python interface."""

import dpqr


def test_a_plan_says_what_a_release_would_do():
    planned = dpqr.plan(queries=dpqr.queries().marginals(ways=1), domain={"a": 2, "b": 3}, eps="0.5")
    assert repr(planned) == "Plan(5 queries in 2 blocks, eps 0.5)"
    assert planned.forecast["answers"].tolist() == [2, 3]
    assert planned.guarantee.startswith("Differentially private with epsilon = 0.5")
    assert planned.guarantee[:40] in str(planned)
    assert planned.record["dpqr"] == "plan/1"
    assert isinstance(planned.notes, tuple)
