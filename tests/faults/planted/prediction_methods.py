"""Faults of stability by other means than a penalty, and of what plans promise."""

from faults.anchored import Anchored, at

_ROOM = "prediction"

FAULTS: tuple[Anchored, ...] = (
    *at(
        _ROOM,
        "opposed_pulls",
        (
            "2 * math.sqrt(1 - cosine ** 2) * (1 + reach * cosine)",
            "2 * math.sqrt(1 - cosine ** 2) * (1 + reach * cosine) / 2",
            "half of the largest difference",
        ),
        (
            "Fraction(2 * math.sqrt(1 - cosine**2) * (1 + reach * cosine)) * ROUNDED_UP",
            "Fraction(2 * math.sqrt(1 - cosine**2) * (1 + reach * cosine))",
            "the figure may be rounded down",
        ),
    ),
    *at(
        _ROOM,
        "GradientDescent._longest",
        ("self.scale.heaviest / 2", "Fraction(1)", "steps that stretch distances of heavy tables"),
    ),
    *at(
        _ROOM,
        "GradientDescent.reached",
        ("min(self.horizon, MOST_STEPS * self._longest)", "self.horizon", "steps are longer than they may be"),
    ),
    *at(
        _ROOM,
        "GradientDescent.tolerance",
        ("self.steps * self.radius", "self.radius", "the projection's rounding is charged once"),
    ),
    *at(
        _ROOM,
        "GradientDescent.learn",
        (
            "min(1.0, radius / max(float(np.linalg.norm(weights)), radius))",
            "max(1.0, radius / max(float(np.linalg.norm(weights)), radius))",
            "functions leave the ball",
        ),
    ),
    *at(
        _ROOM,
        "GradientDescent.slope",
        ("self.radius + 1", "self.radius", "the target's part of a gradient is forgotten"),
    ),
    *at(
        _ROOM,
        "Averaged.distance",
        ("self.parts", "self.parts ** 2", "parts are counted twice"),
    ),
    *at(
        _ROOM,
        "Averaged.bound",
        ("self.distance + members", "self.distance", "the members' tolerance is not charged"),
    ),
    *at(
        _ROOM,
        "Averaged.fit",
        ("np.split(order, ends)", "np.split(np.arange(len(order)), ends)", "rows are learned from in other parts"),
    ),
    *at(
        _ROOM,
        "Stability.of_part",
        ("part=True", "", "the private size of a part is taken as public"),
    ),
    *at(
        _ROOM,
        "Stability.penalised",
        ("CLOSENESS / (self.parts or 1)", "CLOSENESS", "many parts leave a solver's tolerance each"),
    ),
    *at(
        _ROOM,
        "sample_size",
        (
            "1 if problem.unit.neighbours is Neighbours.REPLACE else 2",
            "1 if problem.unit.neighbours is Neighbours.REPLACE else 1",
            "a flipped label is taken for one record that comes",
        ),
    ),
    *at(
        _ROOM,
        "OnlineError.after",
        ("place + 2", "place", "the induction starts from what it shall prove"),
    ),
    *at(
        _ROOM,
        "OnlineError._bias",
        ("bias + drift", "drift", "the penalty's bias is forgotten"),
        ("bias + drift", "bias", "the path of penalties is taken to stand still"),
    ),
)
