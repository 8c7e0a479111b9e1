"""Fuzzing: whatever bytes a file holds, its reader gives a result or one of our own errors, soon and in little memory.

`python -m fuzz` (in tests/; `make fuzz`) runs the targets, each in processes of its own. The inputs are
made by a plain mutator from a small corpus of our own, in corpus/; they depend on nothing but target, seed and number,
so that every one can be made again.
"""
