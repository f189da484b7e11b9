"""Faults of the sparse vector technique: the variants that Lyu, Su and Li 2017 list, and wrong prices."""

from faults.fault import planted_in

FAULTS = (
    *planted_in(
        "mechanisms/sparse_vector.py",
        ("return above + step * drawn >= step", "return above >= step", "no noise on the answers"),
        (
            "watch.ended = measure(data, asked, accountant=watch, noise=noise).value\n    return watch.ended",
            "return measure(data, asked, accountant=watch, noise=noise).value",
            "one threshold for any number of surprises",
        ),
        (
            "drawn = int(Geometric(epoch.threshold_scale).sample(1, noise)[0])",
            "drawn = 0",
            "no noise on the threshold",
        ),
        (
            "return 1 if unit.neighbours is Neighbours.ADD_REMOVE else 2",
            "return 1",
            "a replaced record is priced as if it moved all answers one way",
        ),
        ("above + step * drawn", "above + drawn", "the noise of a wide query is that of a count"),
        ("sensitivity=self.unit.rows,", "sensitivity=1,", "rows of a person are not counted"),
    ),
    *planted_in(
        "kernel/accountants/losses.py",
        (
            "return event.sensitivity * (1 / event.threshold_scale + 2 / event.answer_scale)",
            "return event.sensitivity * (1 / event.threshold_scale + 1 / event.answer_scale)",
            "bounded range of an epoch without one of its ends",
        ),
    ),
)
