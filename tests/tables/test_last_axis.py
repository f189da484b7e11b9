import numpy as np

from dpqr.kernel.noise.source import SeededNoise
from dpqr.tables import load as slots_module
from dpqr.tables.encoders import CodedRows
from dpqr.tables.load import Slots
from dpqr.tables.persons import BoundedPersons


def rows(read, places=None, malformed=()):
    kept = read - len(malformed) if places is None else len(places)
    return CodedRows(
        codes=(),
        rows=kept,
        counts=None,
        read=read,
        failed=frozenset(),
        places=None if places is None else np.array(places),
        malformed=np.array(malformed, dtype=np.int64),
    )


def people(owners, codes, persons):
    return BoundedPersons(rows=np.array([codes], dtype=np.uint64), owners=np.array(owners), persons=persons, lost=0)


def test_a_row_has_the_slot_of_its_place_and_a_dropped_one_leaves_its_own_empty():
    slots = Slots(count=9, most=1, noise=SeededNoise(1))
    found = [slots.of_rows(batch).tolist() for batch in (rows(3), rows(4, [1, 3]), rows(2))]
    assert found == [[0, 1, 2], [4, 6], [7, 8]]


def test_a_malformed_row_leaves_its_slot_empty_and_moves_no_other():
    slots = Slots(count=9, most=1, noise=SeededNoise(1))
    found = [
        slots.of_rows(batch).tolist() for batch in (rows(4, malformed=[0, 2]), rows(3, [0], malformed=[1]), rows(2))
    ]
    assert found == [[1, 3], [4], [7, 8]]


def test_more_rows_than_declared_stay_within_the_slots():
    assert Slots(count=2, most=1, noise=SeededNoise(1)).of_rows(rows(5)).max() < 2


def test_persons_have_slots_of_their_own_in_a_drawn_order_and_their_rows_are_sorted():
    slots = Slots(count=12, most=3, noise=SeededNoise(2))
    first = slots.of_persons(people([0, 1, 0], [9, 5, 2], 2))
    second = slots.of_persons(people([1, 0], [7, 7], 2))
    assert first[2] % 3 == first[1] % 3 == 0
    assert first[0] == first[2] + 1
    assert len({int(slot) // 3 for slot in (*first, *second)}) == 4


def test_who_sits_where_does_not_depend_on_what_others_brought():
    """Another person in place of one: everybody else keeps the slots, with the same draw."""

    def others(brought):
        slots = Slots(count=12, most=4, noise=SeededNoise(5))
        owners, codes = [0] * brought + [1, 2, 1], [*[8, 1, 4, 3][:brought], 5, 6, 7]
        return slots.of_persons(people(owners, codes, 3))[brought:].tolist()

    assert others(1) == others(4)


def test_every_order_of_persons_comes_up_alike():
    seen = np.zeros(3, dtype=int)
    for seed in range(600):
        seen[Slots(count=3, most=1, noise=SeededNoise(seed)).of_persons(people([0], [1], 3))[0]] += 1
    assert seen.min() > 130


def test_ties_do_not_decide_a_permutation(monkeypatch):
    """All keys are drawn again: the places of equal ones would follow the order of the persons."""
    drawn = iter(([5, 5, 1], [3, 4, 3], [9, 2, 4]))
    monkeypatch.setattr(slots_module, "uniforms_below", lambda bound, count, noise: np.array(next(drawn)))
    assert slots_module._permutation(3, SeededNoise(1)).tolist() == [1, 2, 0]


def test_a_persons_slots_do_not_follow_the_order_of_its_rows():
    found = set()
    for codes in ([9, 5, 2], [2, 5, 9], [5, 9, 2]):
        places = Slots(count=6, most=3, noise=SeededNoise(4)).of_persons(people([0, 0, 0], codes, 1)).tolist()
        found.add(tuple(sorted(zip(codes, places, strict=True))))
    assert len(found) == 1


def test_a_person_without_a_kept_row_keeps_its_place():
    """Else the slots of the persons after it would tell that its rows were dropped."""
    kept, dropped = (Slots(count=4, most=1, noise=SeededNoise(7)) for _ in range(2))
    kept.of_persons(people([0, 1], [5, 6], 2))
    dropped.of_persons(people([1], [6], 2))
    after = [each.of_persons(people([0, 1], [7, 8], 2)).tolist() for each in (kept, dropped)]
    assert after[0] == after[1]
