"""Every table and figure of the two works Tacit began from, measured again. Run from the root of the repository."""
