"""Data that come with Tacit: public lists of places, and synthetic events."""
