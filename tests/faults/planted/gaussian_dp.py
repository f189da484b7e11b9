"""Faults of Gaussian DP: conversions that cost too little, sums that forget, noise that is billed as another law."""

from faults.fault import planted_in

FAULTS = (
    *planted_in(
        "kernel/budget.py",
        (
            "return rounded_up(4 * place * place)",
            "return rounded_up(2 * place * place)",
            "a pure draw costs half",
        ),
        (
            "return squared_mu_of_pure(epsilon / 2)",
            "return squared_mu_of_pure(epsilon / 4)",
            "a choice is too cheap",
        ),
        (
            "place = decimal(squared_mu).sqrt() / 2",
            "place = decimal(squared_mu).sqrt()",
            "a mu^2 buys an epsilon of four times its price",
        ),
        (
            "return rounded_down(((1 - tail) / tail).ln())",
            "return rounded_up(((1 - tail) / tail).ln())",
            "what is bought costs more than its price",
        ),
    ),
    *planted_in(
        "kernel/accountants/losses.py",
        (
            "return Fraction(event.squared_sensitivity) / event.variance",
            "return 1 / event.variance",
            "the sensitivity of rounded noise is forgotten in mu^2",
        ),
        ("return event.squared_mu / 2", "return event.squared_mu / 4", "a sum in mu^2 costs half its rho"),
        (
            'are not those of the normal one, and zCDP implies no mu."""',
            'are not those of the normal one, and zCDP implies no mu."""\n'
            "    return Fraction(event.squared_sensitivity) / event.variance",
            "discrete Gaussian noise is billed as the rounded one",
        ),
    ),
    *planted_in(
        "kernel/accountants/analytic.py",
        ("return 2 * most_rho(", "return 4 * most_rho(", "the budget holds twice its mu^2"),
        ("return smallest(whole / 2, delta)", "return smallest(whole / 4, delta)", "half of mu^2 is converted"),
        (
            "return SumFilter(limit=largest_squared_mu(budget), cost=require_mu, unit=UNIT)",
            "return SumFilter(limit=largest_squared_mu(budget), cost=lambda one: require_mu(one) / 2, unit=UNIT)",
            "the filter counts half of every draw",
        ),
        (
            "return sum((cost * count for cost, count in costs if cost is not None), Fraction(0))",
            "return sum((cost for cost, count in costs if cost is not None), Fraction(0))",
            "equal draws are counted once",
        ),
    ),
    *planted_in(
        "strategies/checks.py",
        ("price.squared_mu is not None", "False", "a price in mu^2 buys discrete noise"),
    ),
    *planted_in(
        "mechanisms/noisy_answers.py",
        (
            "return RoundedGaussianEvent(squared_sensitivity=squared, variance=law.variance)",
            "return RoundedGaussianEvent(squared_sensitivity=1, variance=law.variance)",
            "rounded noise is billed for one count",
        ),
    ),
)
