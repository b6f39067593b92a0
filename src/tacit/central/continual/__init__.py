"""Counts that run on."""
