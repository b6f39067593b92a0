"""The noise of streams as explicit matrices: slow, and independent of the closed forms that they check."""

from __future__ import annotations

import numpy as np

from tacit.counts.continual_noise import BufferedRoot, Epochs, FusedTree, NestedTree, RefinedTree


def sums(n_bins):
    return np.tril(np.ones((n_bins, n_bins)))


def nested(tree: NestedTree):
    """Decoder and encoder: a node for each bin, from where it starts to where it ends."""
    totals = np.arange(1, tree.horizon + 1)
    spans, ends = tree.spans(totals), tree.ends(totals)
    encoder = np.array([(totals > t - span) & (totals <= t) for t, span in zip(totals, spans, strict=True)], float)
    decoder = np.array([(totals <= t) & (ends > t) for t in totals], float)
    return decoder, encoder


def measured(tree: RefinedTree | FusedTree):
    """All nodes of the tree that are begun, leaves first, and the encoder that sums bins into them."""
    nodes = [(first, first + size) for size in tree.sizes for first in range(0, tree.horizon, size)]
    return np.array([[first <= i < stop for i in range(tree.horizon)] for first, stop in nodes], float)


def refined(tree: RefinedTree):
    """Least squares for every node from what lies inside it, by dense algebra, and digits on top."""
    encoder = measured(tree)
    sizes = [size for size in tree.sizes for _ in range(0, tree.horizon, size)]
    firsts = [first for size in tree.sizes for first in range(0, tree.horizon, size)]
    decoder = np.zeros((tree.horizon, len(encoder)))
    for t in range(1, tree.horizon + 1):
        left = 0
        for size in reversed(tree.sizes):
            while left + size <= t:
                inside = [n for n in range(len(encoder)) if firsts[n] >= left and firsts[n] + sizes[n] <= left + size]
                bins = slice(left, left + size)
                design = encoder[inside][:, bins]
                weights = np.linalg.solve(design.T @ design, np.ones(size)) @ design.T
                decoder[t - 1, inside] += weights
                left += size
    return decoder, encoder


def fused(tree: FusedTree):
    """Least squares over the whole tree, padded to whole top nodes; the padding is dropped from the encoder."""
    top = tree.sizes[-1]
    n_padded = -(-tree.horizon // top) * top
    full = FusedTree(n_padded, tree.cost, tree.fan_outs)
    encoder = measured(full)
    decoder = sums(n_padded) @ np.linalg.solve(encoder.T @ encoder, encoder.T)
    return decoder[: tree.horizon], encoder[:, : tree.horizon]


def epochs(noise_model: Epochs):
    blocks = [refined(tree) for tree in noise_model.trees]
    n_nodes = sum(len(encoder) for _, encoder in blocks)
    decoder, encoder = np.zeros((noise_model.horizon, n_nodes)), np.zeros((n_nodes, noise_model.horizon))
    node = 0
    for start, (left, right) in zip(noise_model.starts, blocks, strict=False):
        stop, nodes = start + len(left), slice(node, node + len(right))
        decoder[start:stop, nodes] = left
        decoder[stop:, nodes] = left[-1]
        encoder[nodes, start:stop] = right
        node += len(right)
    return decoder, encoder


def buffered(noise_model: BufferedRoot):
    n = noise_model.horizon
    theta, omega = 1 - noise_model.exponentials.decays, noise_model.exponentials.weights
    coefficients = [1.0] + [float(omega @ theta ** (k - 1)) for k in range(1, n)]
    encoder = np.array([[coefficients[t - i] if t >= i else 0.0 for i in range(n)] for t in range(n)])
    return sums(n) @ np.linalg.inv(encoder), encoder


def factors(noise_model):
    """The decoder L and the encoder R of a noise model."""
    kinds = {RefinedTree: refined, FusedTree: fused, Epochs: epochs, BufferedRoot: buffered}
    return kinds.get(type(noise_model), nested)(noise_model)
