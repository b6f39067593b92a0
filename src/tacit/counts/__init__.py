"""Counts and what is known of their error: tallies, estimates, noise models, least squares on trees."""
