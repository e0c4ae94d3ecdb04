#!/usr/bin/env python3
"""What a thresholds file is worth: two documents of `nsatune run --json`, side by side.

usage: compare_runs.py WITHOUT.json WITH.json
"""
import json
import sys


def load(path):
    try:
        with open(path, encoding="utf-8") as file:
            run = json.load(file)
        return run["tokens_per_s"], run["median_step_ns"], run
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"compare_runs: {path}: {error}")


def ran(run):
    """stage -> the variants that ran, in the order of the report."""
    stages = {}
    for entry in run.get("engaged", []):
        stages.setdefault(entry["stage"], []).append(entry["variant"])
    return stages


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    without_rate, without_ns, without = load(sys.argv[1])
    with_rate, with_ns, with_ = load(sys.argv[2])
    print(f"{'':28}{'without':>22}{'with the file':>22}")
    print(f"{'tok/s':28}{without_rate:22.0f}{with_rate:22.0f}")
    print(f"{'step, median ms':28}{without_ns / 1e6:22.2f}{with_ns / 1e6:22.2f}")
    before, after = ran(without), ran(with_)
    for stage in dict.fromkeys([*before, *after]):
        old = ", ".join(before.get(stage, ["-"]))
        new = ", ".join(after.get(stage, ["-"]))
        mark = "" if old == new else "  <- changed"
        print(f"{stage:28}{old:>22}{new:>22}{mark}")
    ratio = with_rate / without_rate if without_rate > 0 else float("nan")
    print(f"\nThe tuned file makes this model {ratio:.2f} times as fast on this machine.")


if __name__ == "__main__":
    main()
