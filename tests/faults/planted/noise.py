"""Faults of bits, coins, tables and selections."""

from faults.anchored import Anchored, at

_ROOM = "kernel"

FAULTS: tuple[Anchored, ...] = (
    *at(
        _ROOM,
        "_LEAST_SHARE",
        ("2.0 ** (-13)", "2.0 ** (-16)", "a coin is called heads before its cell proves it"),
    ),
    *at(
        _ROOM,
        "bernoulli_below",
        ("uniform < above", "uniform + SHORT < above", "a coin is called tails before its cell proves it"),
        ("uniform += SHORT", "", "the bits that are not drawn yet count as zeros"),
        (
            "LazyUniform(noise, int(shorts[i]), SHORT_BITS)",
            "LazyUniform(noise)",
            "a doubtful coin forgets the bits that made it doubtful",
        ),
    ),
    *at(
        _ROOM,
        "bernoulli_fixed",
        (
            "LazyUniform(noise, leading, SHORT_BITS)",
            "LazyUniform(noise)",
            "a doubtful fixed coin forgets its first bits",
        ),
    ),
    *at(
        _ROOM,
        "random_shorts",
        (
            "noise.words(-(-count // 4)).view(np.uint16)[:count]",
            "np.resize(noise.words(1).view(np.uint16), count)",
            "four short words serve for all",
        ),
    ),
    *at(
        _ROOM,
        "random_halves",
        (
            "noise.words(-(-count // 2)).view(np.uint32)[:count]",
            "np.resize(noise.words(1).view(np.uint32), count)",
            "two half words serve for all",
        ),
    ),
    *at(
        _ROOM,
        "random_integer",
        ("64 * count - bits", "64 * count - bits + 1", "the leading bit of an integer is always 0"),
    ),
    *at(
        _ROOM,
        "distance_grid",
        ("int(unit * (1 << shift))", "int(unit * (1 << shift)) + 1", "cells lie above their exponents"),
    ),
    *at(
        _ROOM,
        "DistanceGrid.cells",
        ("np.minimum(distances, np.uint64(self.cap), out=distances)", "", "large distances wrap around"),
    ),
    *at(
        _ROOM,
        "distances_below",
        ("1 << 64", "1 << 63", "the largest score loses its sign"),
    ),
    *at(
        _ROOM,
        "PieceEnvelope.attempt",
        ("'right'", "'left'", "a piece's interval is off by one"),
        (
            "LazyUniform(noise).below(partial(acceptance_bracket, exponent, self.bits, weight))",
            "weight",
            "the coin that corrects an integer weight is not tossed",
        ),
    ),
    *at(
        _ROOM,
        "PieceEnvelope.over",
        ("int(search.counts.sum())", "len(bounds)", "sums of weights can overflow"),
    ),
    *at(
        _ROOM,
        "below_bounds",
        ("bounds - scores", "(bounds - scores) // 2", "members are kept by half their distance"),
    ),
    *at(
        _ROOM,
        "exp_bracket",
        ("-(-high * high >> work)", "high * high >> work", "an upper bound is rounded down"),
        ("low >> surplus", "-(-low >> surplus)", "a lower bound is rounded up"),
        ("return (0, 1)", "return (0, 0)", "a far tail is cut off"),
    ),
    *at(
        _ROOM,
        "_inverse_growth",
        (
            "down * below // (step << work)",
            "-(-down * below // (step << work))",
            "terms of the lower sum are rounded up",
        ),
        ("-(-up * above // (step << work))", "up * above // (step << work)", "terms of the upper sum are rounded down"),
    ),
    *at(
        _ROOM,
        "_ENTRY_MARGIN",
        ("1 + 2.0 ** (-48)", "1.0", "entries may be rounded below their value"),
    ),
    *at(
        _ROOM,
        "draw_exponential",
        (
            "rate * (best - int(scores[index]))",
            "rate * (best - int(scores[index])) / 2",
            "candidates are kept by half their distance",
        ),
        (
            "LazyUniform(noise)",
            "LazyUniform(noise, index % 2, 1)",
            "a candidate's own number decides whether it is kept",
        ),
    ),
    *at(
        _ROOM,
        "acceptance_bracket",
        ("-(-high // bound)", "high // bound", "an upper bound is rounded down"),
    ),
    *at(
        _ROOM,
        "LazyUniform.prefix",
        (
            "self._value << missing | random_integer(missing, self._noise)",
            "random_integer(bits, self._noise)",
            "further bits replace the first ones",
        ),
    ),
    *at(
        _ROOM,
        "LazyUniform.below",
        ("value < low", "value <= low", "a comparison is decided before it is proved"),
        ("value >= high", "value >= low", "a doubtful comparison is always decided one way"),
    ),
    *at(
        _ROOM,
        "draw_permute_and_flip",
        (
            "uniform_below(int(reached[-1]), noise)",
            "0 * uniform_below(int(reached[-1]), noise)",
            "the first that shows heads wins, not a random one",
        ),
    ),
    *at(
        _ROOM,
        "_chunk_of",
        ("'right'", "'left'", "a chunk's interval is off by one"),
        ("chunk - 1", "0", "a candidate of a later chunk is taken for another"),
    ),
    *at(
        _ROOM,
        "_toss",
        (
            "rate * (best - int(scores[i]))",
            "rate * (best - int(scores[i])) / 2",
            "doubtful coins are tossed at half the rate",
        ),
    ),
    *at(
        _ROOM,
        "integer_bounds",
        ("bounds += 1", "", "integer bounds lie below the weights"),
    ),
    *at(
        _ROOM,
        "ListedProposal.pick",
        ("'right'", "'left'", "a candidate's interval is off by one"),
    ),
    *at(
        _ROOM,
        "WEIGHT_BITS",
        ("61", "63", "sums of weights can overflow"),
    ),
    *at(
        _ROOM,
        "settle_best",
        ("search.bounds > best", "search.bounds > best + 1", "a score that may be the largest is not looked at"),
    ),
    *at(
        _ROOM,
        "_LOG2_E",
        ("23637", "23638", "a coin's chance may exceed 1"),
    ),
    *at(
        _ROOM,
        "_Tosses._fresh_members",
        ("used.add(place)", "", "two heads may stand for one candidate"),
    ),
    *at(
        _ROOM,
        "_Tosses.first",
        (
            "[label for label in drawn if label not in tossed]",
            "list(drawn)",
            "a head whose coins failed is tossed again",
        ),
    ),
    *at(
        _ROOM,
        "_Tosses._accepted",
        (
            "partial(acceptance_bracket, exponent, times, 1)",
            "partial(acceptance_bracket, exponent, 0, 1)",
            "the halvings are counted twice",
        ),
    ),
    *at(
        _ROOM,
        "SystemNoise.words",
        ("os.urandom(8 * count)", "os.urandom(8) * count", "one random word serves for all"),
    ),
    *at(
        _ROOM,
        "SeededNoise.private",
        ("return False", "return True", "a seeded stream passes for private noise"),
    ),
    *at(
        _ROOM,
        "uniform_below",
        ("value < bound", "value <= bound", "a uniform integer may be its bound"),
    ),
    *at(
        _ROOM,
        "uniforms_below",
        ("pending[values[pending] >= bound]", "pending[:0]", "a second draw is kept whatever it is"),
        (
            "values = random_bits(bits, count, noise)",
            ("values = random_bits(bits, count, noise)\nvalues %= bound"),
            "small integers are likelier than large ones",
        ),
    ),
)
