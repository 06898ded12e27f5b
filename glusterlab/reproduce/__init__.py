"""Notebooks in batch: only what changed, each in a process of its own."""
