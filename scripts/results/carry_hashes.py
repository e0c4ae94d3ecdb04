#!/usr/bin/env python3
"""Carries the source hashes of a thresholds file over to a build whose machine code is the same.

usage: carry_hashes.py OLD_BUILD NEW_BUILD THRESHOLDS.json      (build folders; needs cuobjdump of the CUDA toolkit)

A new name for a type or a field changes the hash of every row that is compiled from it, and a decision measured before counts as
stale, though the code that ran has not changed. This compares the machine code of every kernel of the old build with that of the
new one and writes the new hashes into the file only where all of them are the same. Host code is not compared: what a launcher
does besides launching is for the reviewer to judge. Exit 1, and nothing written, where a kernel differs or is gone.
"""
import collections
import json
import pathlib
import re
import subprocess
import sys

from compare_sass import kernels_of


def hashes_of(build):
    """(stages, name, direction) of each CUDA row -> hash of its sources."""
    program = f"{build}/bin/nsatune"
    try:
        rows = json.loads(subprocess.run([program, "variants", "--json"], capture_output=True, check=True).stdout)["variants"]
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"carry_hashes: {error}; build the target nsatune there first")
    return {("+".join(row["stages"]), row["name"], row.get("direction", "forward")): row["source_hash"] for row in rows
            if row["backend"] == "cuda"}


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    old, new, path = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    before, after = (kernels_of(f"{build}/kernels/libnsa_kernels.a") for build in (old, new))
    changed = sorted(name for name, code in before.items() if not set(code) <= set(after.get(name, [])))
    if changed:
        print(f"carry_hashes: {len(changed)} of {len(before)} kernels differ or are gone:", *changed[:20], sep="\n  ")
        return 1
    were, are = hashes_of(old), hashes_of(new)
    carried = {were[name]: are[name] for name in were if name in are}
    count = collections.Counter()

    def carry(match):
        found = match[2]
        count["fresh" if found in are.values() else "carried over" if found in carried else "unknown to both"] += 1
        return f'{match[1]}{carried.get(found, found)}"'

    path.write_text(re.sub(r'("source_hash":\s*")(\w+)"', carry, path.read_text()))
    print(f"{len(before)} kernels are the same; hashes: " + ", ".join(f"{n} {word}" for word, n in count.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
