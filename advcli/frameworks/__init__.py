"""Frameworks' own numbers, to the digit."""
