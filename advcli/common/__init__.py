"""Shared by all layers: errors, registries, and helpers for messages."""
