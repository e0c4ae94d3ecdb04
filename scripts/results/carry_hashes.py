#!/usr/bin/env python3
"""Carries the source hashes of a thresholds file over to a build whose machine code is the same.

usage: carry_hashes.py [--changed REGEX --stale DIRECTION,...] OLD_BUILD NEW_BUILD THRESHOLDS.json
                                                        (build folders; needs cuobjdump of the CUDA toolkit)

A new name for a type or a field changes the hash of every row that is compiled from it, and a decision measured before counts as
stale, though the code that ran has not changed. This compares the machine code of every kernel of the old build with that of the
new one and writes the new hashes into the file only where all of them are the same. Host code is not compared: what a launcher
does besides launching is for the reviewer to judge. Exit 1, and nothing written, where a kernel differs or is gone.

  --changed REGEX       kernels that may differ: only rows of the stale directions launch them
  --stale DIRECTION,..  rows of these directions (backward, forward_backward) keep the old hash, until they are measured again
"""
import argparse
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


def ranges_in(value):
    """Each range of a part of the file that has a hash (of decisions, their alignments and projects), in the order of the file."""
    if isinstance(value, dict):
        if "source_hash" in value:
            yield value
        value = value.values()
    elif not isinstance(value, list):
        return
    for part in value:
        yield from ranges_in(part)


def rows_of(thresholds):
    """(stages, name, direction) of the row of each range, in the order of the file. Rows that had one hash may have several now."""
    for in_class in thresholds["classes"]:
        direction = in_class["problem_class"]["direction"]
        if direction == "forward_saving":  # by the forward rows
            direction = "forward"
        for ranged in ranges_in(in_class):
            yield "+".join(ranged["variant"]["stages"]), ranged["variant"]["name"], direction


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("thresholds", type=pathlib.Path)
    parser.add_argument("--changed", type=re.compile, default=re.compile("(?!)"))  # none
    parser.add_argument("--stale", type=lambda text: text.split(","), default=[])
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    before, after = (kernels_of(f"{build}/kernels/libnsa_kernels.a") for build in (arguments.old, arguments.new))
    changed = sorted(name for name, code in before.items() if not set(code) <= set(after.get(name, [])))
    refused = [name for name in changed if not arguments.changed.search(name)]
    if refused:
        print(f"carry_hashes: {len(refused)} of {len(before)} kernels differ or are gone:", *refused[:20], sep="\n  ")
        return 1
    were, are = hashes_of(arguments.old), hashes_of(arguments.new)
    count = collections.Counter()
    text = arguments.thresholds.read_text()
    rows = rows_of(json.loads(text))

    def carry(match):
        row, found = next(rows), match[2]
        known = found == were.get(row) and row in are
        stale = known and row[2] in arguments.stale
        count["fresh" if found == are.get(row) else "stale" if stale else "carried over" if known else "unknown to both"] += 1
        return f'{match[1]}{are[row] if known and not stale else found}"'

    text = re.sub(r'("source_hash":\s*")(\w+)"', carry, text)
    assert next(rows, None) is None, "a hash for each range"
    arguments.thresholds.write_text(text)
    print(f"{len(before) - len(changed)} kernels are the same, {len(changed)} changed; hashes: "
          + ", ".join(f"{n} {word}" for word, n in count.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
