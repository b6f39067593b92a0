"""Randomizers for devices that trust nobody."""
