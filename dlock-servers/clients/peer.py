"""The lines that each Python client reads and writes: see README.md."""

import sys


def serve(acquire, release, holds=None):
    """`acquire(name, waits)` returns a lock, or None if it is taken; `release(lock)` and `holds(lock)` return whether
    it was held."""
    held = {}
    print("ready", flush=True)
    for line in sys.stdin:
        verb, name = line.split(maxsplit=1)
        name = name.strip()
        if verb == "release":
            answer = "released" if release(held.pop(name)) else "not released"
        elif verb == "holds":
            answer = "yes" if holds(held[name]) else "no"
        else:
            lock = acquire(name, waits=verb == "acquire")
            if lock is not None:
                held[name] = lock
            answer = "taken" if lock is None else "acquired"
        print(answer, flush=True)
