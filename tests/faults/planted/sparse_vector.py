"""Faults of the sparse vector technique: the variants that Lyu, Su and Li 2017 list, and wrong prices."""

from faults.anchored import Anchored, at

FAULTS: tuple[Anchored, ...] = (
    *at(
        "mechanisms",
        "ThresholdComparison.sample",
        ("above + step * drawn", "above", "no noise on the answers"),
    ),
    *at(
        "mechanisms",
        "is_above_threshold",
        (
            ("watch.ended = measure(data, asked, accountant=watch, noise=noise).value\nreturn watch.ended"),
            "return measure(data, asked, accountant=watch, noise=noise).value",
            "one threshold for any number of surprises",
        ),
    ),
    *at(
        "mechanisms",
        "open_threshold",
        ("int(Geometric(epoch.threshold_scale).sample(1, noise)[0])", "0", "no noise on the threshold"),
    ),
    *at(
        "mechanisms",
        "_directions",
        (
            "1 if unit.neighbours is Neighbours.ADD_REMOVE else 2",
            "1",
            "a replaced record is priced as if it moved all answers one way",
        ),
    ),
    *at(
        "kernel",
        "_threshold_range",
        ("2 / event.answer_scale", "1 / event.answer_scale", "bounded range of an epoch without one of its ends"),
    ),
)
