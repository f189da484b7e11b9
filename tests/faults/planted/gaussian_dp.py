"""Faults of Gaussian DP: conversions that cost too little, sums that forget, noise that is billed as another law."""

from faults.anchored import Anchored, at

FAULTS: tuple[Anchored, ...] = (
    *at(
        "kernel",
        "squared_mu_of_pure",
        ("4 * place", "2 * place", "a pure draw costs half"),
    ),
    *at(
        "kernel",
        "squared_mu_of_ranged",
        ("epsilon / 2", "epsilon / 4", "a choice is too cheap"),
    ),
    *at(
        "kernel",
        "pure_of_squared_mu",
        (
            "decimal(squared_mu).sqrt() / 2",
            "decimal(squared_mu).sqrt()",
            "a mu^2 buys an epsilon of four times its price",
        ),
        (
            "rounded_down(((1 - tail) / tail).ln())",
            "rounded_up(((1 - tail) / tail).ln())",
            "what is bought costs more than its price",
        ),
    ),
    *at(
        "kernel",
        "_rounded_gaussian_mu",
        ("Fraction(event.squared_sensitivity)", "1", "the sensitivity of rounded noise is forgotten in mu^2"),
        (
            "RoundedGaussianEvent",
            "RoundedGaussianEvent | DiscreteGaussianEvent",
            "discrete Gaussian noise is billed as the rounded one",
        ),
    ),
    *at(
        "kernel",
        "_mu_sum_rho",
        ("event.squared_mu / 2", "event.squared_mu / 4", "a sum in mu^2 costs half its rho"),
    ),
    *at(
        "kernel",
        "largest_squared_mu",
        (
            "2 * most_rho(budget.epsilon, budget.delta)",
            "4 * most_rho(budget.epsilon, budget.delta)",
            "the budget holds twice its mu^2",
        ),
    ),
    *at(
        "kernel",
        "squared_mu_to_epsilon",
        ("whole / 2", "whole / 4", "half of mu^2 is converted"),
    ),
    *at(
        "kernel",
        "GaussianDP.loss",
        ("require_mu(event)", "require_mu(event) / 2", "the filter counts half of every draw"),
    ),
    *at(
        "kernel",
        "GaussianDP.total.added",
        ("cost * count", "cost", "equal draws are counted once"),
    ),
    *at(
        "strategies",
        "_gaussian_law",
        ("price.squared_mu is not None", "False", "a price in mu^2 buys discrete noise"),
    ),
    *at(
        "mechanisms",
        "gaussian_event",
        (
            "RoundedGaussianEvent(squared_sensitivity=squared, variance=law.variance)",
            "RoundedGaussianEvent(squared_sensitivity=1, variance=law.variance)",
            "rounded noise is billed for one count",
        ),
    ),
)
