"""Frozen records passed between the layers; imports nothing heavy."""
