"""Figures of advantage columns, health of groups, comparison of columns."""
