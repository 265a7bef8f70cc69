"""Fuzzing campaign: random settings, tables, inputs, kills and hostile files, and what must hold of each."""
