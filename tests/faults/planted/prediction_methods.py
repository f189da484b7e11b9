"""Faults of stability by other means than a penalty, and of what plans promise."""

from faults.fault import planted_in

FAULTS = (
    *planted_in(
        "prediction/learners/stable.py",
        ("(1 + reach * cosine)", "(1 + reach * cosine) / 2", "half of the largest difference"),
        ("1 + 8 * reach**2", "1 + 4 * reach**2", "the worst angle is missed"),
        ("1 + Fraction(1, 2**40)", "Fraction(1)", "the figure may be rounded down"),
    ),
    *planted_in(
        "prediction/learners/gradient_steps.py",
        ("self.scale.heaviest / 2)", "Fraction(1))", "steps that stretch distances of heavy tables"),
        ("min(self.horizon, MOST_STEPS * self._longest)", "self.horizon", "steps are longer than they may be"),
        ("distance(self.slope, 1 / self.reached)", "distance(self.slope, 2 / self.reached)", "half of the distance"),
        ("2 * self.reached * opposed_pulls", "self.reached * opposed_pulls", "half of the distance for squares"),
        ("self.distance + 2 * wrong", "self.distance + wrong", "one end's error is charged, of two"),
        ("self.steps * self.radius +", "self.radius +", "the projection's rounding is charged once"),
        ("        weights *= min(1.0", "        weights *= max(1.0", "functions leave the ball"),
        ("2 * (self.radius + 1)", "2 * self.radius", "the target's part of a gradient is forgotten"),
    ),
    *planted_in(
        "prediction/learners/gradient_steps.py",
        ("self.learner.distance / self.parts", "self.learner.distance / self.parts**2", "parts are counted twice"),
        ("(self.distance + members +", "(self.distance +", "the members' tolerance is not charged"),
        ("np.split(order, ends)", "np.split(np.arange(len(order)), ends)", "rows are learned from in other parts"),
    ),
    *planted_in(
        "prediction/recipes.py",
        (", part=True)", ")", "the private size of a part is taken as public"),
        ("CLOSENESS / (self.parts or 1)", "CLOSENESS", "many parts leave a solver's tolerance each"),
    ),
    *planted_in(
        "prediction/rates.py",
        ("REPLACE else 2", "REPLACE else 1", "a flipped label is taken for one record that comes"),
        ("RARE = 0.27846", "RARE = 0.29", "more records are said to be needed than is proved"),
    ),
    *planted_in(
        "prediction/excess_risk.py",
        ("found[place + 2 :])", "found[place:])", "the induction starts from what it shall prove"),
        ("(bias + drift)", "drift", "the penalty's bias is forgotten"),
        ("(bias + drift)", "bias", "the path of penalties is taken to stand still"),
    ),
)
