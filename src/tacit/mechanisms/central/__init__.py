"""Mechanisms of a trusted curator: exact counts in, noisy counts out, and the ledger is asked first."""
