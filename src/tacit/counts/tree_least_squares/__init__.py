"""Least squares on a tree: leaves that add up, and the exact error of every question put to them.

:class:`TreeFusion` fuses measurements of a tree's nodes, and knows what is left of their noise.
"""

from tacit.counts.tree_least_squares.fusion import TreeFusion

__all__ = ["TreeFusion"]
