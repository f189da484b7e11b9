"""Faults of the noise laws: their draws and their public figures."""

from faults.fault import planted_in

FAULTS = (
    *planted_in(
        "kernel/noise/spherical_laplace.py",
        (
            "range(self.width)]\n        first",
            "range(self.width - 1 or 1)]\n        first",
            "one too few",
        ),
        ("self.rest.prefix(bits)\n\n\ndef", "0\n\n\ndef", "an exponential without its fraction"),
        ("-near if normal.negative else near", "near", "no draw is negative"),
        (
            "low = self.scale * radius / (most << bits)\n        high = self.scale",
            "low = self.scale / 2 * radius / (most << bits)\n        high = self.scale / 2",
            "half of the stated scale is drawn",
        ),
    ),
    *planted_in(
        "kernel/noise/law.py",
        ("price = -log(beta)", "price = -log(2 * beta)", "the bound is missed twice as often as it says"),
        (
            "(draws * log_moment(point) + price)",
            "(log_moment(point) + price)",
            "the bound on a sum is that of one draw",
        ),
        ("_MARGIN = 1 + 2.0**-20", "_MARGIN = 1 - 2.0**-20", "the margin for the arithmetic is on the wrong side"),
    ),
    *planted_in(
        "kernel/noise/gaussian.py",
        (
            "(2 * self.variance)\n\n    def cells",
            "self.variance\n\n    def cells",
            "doubtful proposals are kept by half the variance",
        ),
        (
            "unit=1 / sqrt(2 * variance)",
            "unit=1 / sqrt(2.2 * variance)",
            "the variance of what is kept is a tenth larger than stated",
        ),
        ("centre=float(variance / scale)", "centre=float(scale)", "the envelope's centre is off"),
        (
            "law=DiscreteLaplace(Fraction(scale))",
            "law=DiscreteLaplace(Fraction(scale + 1))",
            "the proposals are wider than the coins take off",
        ),
        ("return proposals[kept]", "return sizes[kept]", "noise is never negative"),
        ("np.cumsum(weights[::-1])[::-1] * 2", "np.cumsum(weights[::-1])[::-1]", "a tail is that of one side"),
        (
            "start = k + 0.5 if k + 0.5 >= deviation else float(k)",
            "start = k + 1.0",
            "the tail of large variances begins a step late",
        ),
        (
            "min(together, draws + chernoff(",
            "min(together, chernoff(",
            "the bound of a normal sum without the step that rounding takes",
        ),
        ("log(2 / min(beta, 1.0))", "log(1 / min(beta, 1.0))", "a two-sided bound is that of one side"),
        ("step * step / 2 + log(", "step * step / 4 + log(", "the moments of a normal sum are too small"),
        (
            "together = float(draws * self.tail(beta / draws))",
            "together = float(draws * self.tail(beta))",
            "a union bound that does not share beta",
        ),
        (
            "2 * (variance - 1 / 12) / sqrt(2 * pi * variance)",
            "(variance - 1 / 12) / sqrt(2 * pi * variance)",
            "the mean size of large variances is halved",
        ),
        (
            "envelope = _envelope(self.variance)",
            "envelope = _envelope(self.variance * Fraction(9, 10))",
            "the variance that is drawn is 0.9 of the stated one",
        ),
    ),
    *planted_in(
        "kernel/noise/discrete_laplace.py",
        ("second = 2 * ratio / gap**2", "second = ratio / gap**2", "the second moment is half of what it is"),
        ("+ 3 * second**2", "+ second**2", "the fourth moment is too small"),
        ("(1 + 4 * ratio + ratio**2)", "(1 + ratio + ratio**2)", "the fourth cumulant is too small"),
        ("return 2 * power * limit.denominator", "return power * limit.denominator", "a tail is that of one side"),
        (
            "sizes = geometric_parts(self.scale)",
            "sizes = geometric_parts(self.scale * Fraction(9, 10))",
            "the scale that is drawn is 0.9 of the stated one",
        ),
        (
            "return low * one // (one + low), -(-high * one // (one + high))",
            "return low, high",
            "the sign's coin makes zero too rare",
        ),
        (
            "part[:] = sizes.sample(len(part), noise)",
            "part[:] = draws[: len(part)] if start else sizes.sample(len(part), noise)",
            "every chunk repeats the first one's noise",
        ),
        (
            "part ^= -bernoulli_fixed(leading, sign, len(part), noise).astype(np.int64)",
            "part ^= -bernoulli_fixed(leading, sign, 1, noise).astype(np.int64)",
            "one coin is the sign of all draws",
        ),
        (
            "together = float(draws * self.tail(beta / draws))",
            "together = float(draws * self.tail(beta))",
            "a union bound that does not share beta",
        ),
        ("+ log1p(grown)", "", "the moments of a sum are too small"),
    ),
    *planted_in(
        "kernel/noise/discrete_laplace.py",
        (
            'edges.searchsorted(words, side="right")',
            'edges.searchsorted(words, side="left")',
            "a word on an edge is not compared further",
        ),
        ("(known + 1) / scale", "known / scale", "the climb compares with the threshold below"),
        (
            "LazyUniform(noise, int(words[i]), EDGE_BITS)",
            "LazyUniform(noise, int(words[i]) | 1, EDGE_BITS)",
            "a bit of a doubtful draw is always set",
        ),
        (
            "draws += _remainders(self, count, noise)",
            "draws += _remainders(self, 1, noise)",
            "one remainder serves for all draws",
        ),
        (
            "        pending = pending[~_keep(parts, proposed, noise)]\n",
            "        pending = pending[:0]\n",
            "a second proposal is kept whatever it is",
        ),
        (
            "int(proposed[i]) / parts.scale",
            "int(proposed[i]) / parts.quotient",
            "doubtful remainders are kept by a wrong scale",
        ),
    ),
    *planted_in(
        "kernel/noise/public.py",
        (
            "radius = np.sqrt(-2 * np.log1p(-uniform[:count]))",
            "radius = np.sqrt(-np.log1p(-uniform[:count]))",
            "public normal draws have half the variance",
        ),
    ),
    *planted_in(
        "kernel/noise/bits.py",
        ("    exponents -= 0.5\n", "", "cells without the half cell that rounding errors take"),
    ),
    *planted_in(
        "kernel/noise/gaussian.py",
        ("rest = uniform if size else (1 + uniform) / 2", "rest = uniform", "the cell of 0 counts one half only"),
        (
            "exp_bracket(far, precision)[0], exp_bracket(near, precision)[1]",
            "exp_bracket(near, precision)[0], exp_bracket(near, precision)[1]",
            "a place whose bits are not drawn is taken for known",
        ),
        (
            "LazyUniform(noise, int(words[i]), WORD_BITS)",
            "LazyUniform(noise)",
            "a doubtful proposal gets another place",
        ),
        (
            "sizes, words = np.abs(proposals), noise.words(count)",
            "sizes, words = np.abs(proposals), np.resize(noise.words(1), count)",
            "one place serves for all cells",
        ),
        (
            "SMALLEST_VARIANCE = Fraction(1, 64)",
            "SMALLEST_VARIANCE = Fraction(1, 6400)",
            "variances for which the rounding errors are not proved",
        ),
    ),
)
