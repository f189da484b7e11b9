"""Random calibrated trees on domains small enough to be listed."""

import numpy as np

from dpqr.models.junction_tree import Clique, JunctionTree, by_size


def shaped(seed, attributes=6):
    """A tree that is not flattened for being small: cliques of random attributes around a random part of another."""
    rng = np.random.default_rng(seed)
    shape = tuple(int(number) for number in rng.integers(1, 5, attributes))
    left = list(map(int, rng.permutation(attributes)))
    cliques = []
    while left:
        own = [left.pop() for _ in range(min(len(left), int(rng.integers(1, 3))))]
        parent = int(rng.integers(-1, len(cliques))) if cliques else -1
        near = cliques[parent].axes if parent >= 0 else ()
        shared = by_size(shape, [axis for axis in near if rng.random() < 0.6])
        above = parent if shared else None
        cliques.append(Clique(axes=by_size(shape, [*own, *shared]), parent=above, separator=shared))
    return JunctionTree(shape=shape, cliques=tuple(cliques))


def calibrated(tree, seed):
    """Probabilities of every cell, shape = domain shape, and the beliefs of the cliques: a random product."""
    rng = np.random.default_rng(seed)
    logs = np.zeros(tree.shape)
    for clique in tree.cliques:
        order = sorted(clique.axes)
        table = 2 * rng.normal(size=[tree.shape[axis] for axis in order])
        logs = logs + table.reshape([size if axis in order else 1 for axis, size in enumerate(tree.shape)])
    cells = np.exp(logs)
    cells /= cells.sum()
    return cells, tuple(summed(cells, clique.axes) for clique in tree.cliques)


def summed(cells, axes):
    table = cells.sum(axis=tuple(axis for axis in range(cells.ndim) if axis not in axes))
    return table.transpose([sorted(axes).index(axis) for axis in axes])
