"""The arithmetic of trainers: their dtype, their eps, their order of operations."""
