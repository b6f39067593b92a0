"""Counts events over time and place without telling on anyone."""
