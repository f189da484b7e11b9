"""A search over scores written down by hand, cut into pieces that halve when they are refined."""

import numpy as np


class HandSearch:
    """loose: how far every bound lies above its piece's largest score while the piece has several members. A negative
    one makes bounds that do not hold, and cut scores off. allowance: refinements that are admitted."""

    def __init__(self, scores, pieces, loose=0, allowance=1000):
        self.scores = np.array(scores, dtype=np.int64)
        self.loose, self.allowance, self.refined, self.evaluated = loose, allowance, 0, 0
        self._cut([np.asarray(piece) for piece in pieces])

    def _cut(self, pieces):
        self.pieces = pieces
        self.counts = np.array([len(piece) for piece in pieces])
        self.members = np.concatenate(pieces)
        self.starts = np.cumsum(self.counts) - self.counts
        largest = np.maximum.reduceat(self.scores[self.members], self.starts)
        self.known = (largest == np.minimum.reduceat(self.scores[self.members], self.starts)).astype(np.int64)
        self.bounds = largest + self.loose * (1 - self.known)

    def score(self, pieces, ranks):
        return np.minimum(self.scores[self.members[self.starts[pieces] + ranks]], self.bounds[pieces])

    def candidate(self, piece, rank):
        return int(self.pieces[piece][rank])

    def refine(self, pieces):
        chosen = set(pieces.tolist())
        if not chosen or self.refined >= self.allowance:
            return False
        self.refined += 1
        kept = [piece for place, piece in enumerate(self.pieces) if place not in chosen]
        halves = [part for place in sorted(chosen) for part in np.array_split(self.pieces[place], 2) if len(part)]
        self._cut(kept + halves)
        return True

    def evaluate(self):
        self.evaluated += 1
        return self.scores.copy()
