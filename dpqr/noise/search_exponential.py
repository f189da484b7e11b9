"""The exponential mechanism's draw from a search: few scores are worked out, and the law is that of all of them."""

from __future__ import annotations

from fractions import Fraction

from dpqr.noise.envelope import Envelope
from dpqr.noise.exponential_draw import draw_exponential
from dpqr.noise.refining import settle_best, tightened
from dpqr.noise.search import Search
from dpqr.noise.source import NoiseSource


def search_exponential(search: Search, rate: Fraction, noise: NoiseSource) -> int:
    """The number i of a candidate with Pr[i] = exp(rate score_i) / sum_j exp(rate score_j), exactly.

    rate: at least 0. Trials by bounds (`Envelope.attempt`); where a batch of them fails, pieces get closer bounds
    (`refining`) and other batches are made; where that would be more work than all scores, `draw_exponential` is made
    from all.

    Proof. Let P be whatever happened before a trial: earlier trials, all failed, and which bounds they led to. Given
    P, the trial ends in i with probability c(P) exp(rate score_i), c(P) the same for all i, so given P and that it
    succeeds, in i with the stated probability. The draw from all scores has that law given P too. One of them ends
    the draw, and the law is the stated one given which, so it is the stated one. It takes independent trials, bounds
    that hold, and a choice of what comes next by P alone; how that choice is made does not matter.

    **Privacy** That of `draw_exponential`, whose law this is. How many trials there were, and which pieces were
    refined, depends on the private scores: it is never shown or stored, and time is out of the guarantee's scope.
    """
    found = Envelope.over(search, rate).attempt(search, noise)
    if found is None and settle_best(search):
        found = tightened(search, rate, noise)
    return draw_exponential(search.evaluate(), rate, noise) if found is None else search.candidate(*found)
