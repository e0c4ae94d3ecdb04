#!/usr/bin/env python3
"""What a thresholds file is worth: documents of `nsatune run --json`, without it and with it.

usage: compare_runs.py WITHOUT.json [...] -- WITH.json [...]

Give several of each, run in turn (A B B A), so that a machine that gets slower over time does not decide.
"""
import json
import random
import statistics
import sys


def load(paths):
    try:
        runs = []
        for path in paths:
            with open(path, encoding="utf-8") as file:
                runs.append(json.load(file))
        steps = [ns for run in runs for ns in run["step_ns"]]
        return runs[0], steps, runs[0]["tokens_per_step"] / (statistics.median(steps) * 1e-9)
    except (OSError, ValueError, KeyError, IndexError, ZeroDivisionError) as error:
        sys.exit(f"compare_runs: {path}: {error}")


def ran(run):
    """stage -> the variants that ran, in the order of the report."""
    stages = {}
    for entry in run.get("engaged", []):
        stages.setdefault(entry["stage"], []).append(entry["variant"])
    return stages


def ratio_interval(before, after, draws=2000):
    """95 % interval of the ratio of the medians before / after, by a bootstrap with a fixed seed."""
    chance = random.Random(1)
    ratios = sorted(
        statistics.median(chance.choices(before, k=len(before)))
        / statistics.median(chance.choices(after, k=len(after)))
        for _ in range(draws)
    )
    return ratios[int(0.025 * draws)], ratios[int(0.975 * draws)]


def verdict(before, after):
    ratio = statistics.median(before) / statistics.median(after)
    low, high = ratio_interval(before, after)
    what = f"{ratio:.2f} [{low:.2f}, {high:.2f}] times as fast"
    if low <= 1 <= high:
        return f"No difference beyond the noise of {len(before)} steps each: with the file {what}."
    return f"The tuned file makes this model {what} on this machine."


def main():
    words = sys.argv[1:]
    if words.count("--") != 1 or words[0] == "--" or words[-1] == "--":
        sys.exit(__doc__)
    split = words.index("--")
    without, before, without_rate = load(words[:split])
    with_, after, with_rate = load(words[split + 1 :])
    print(f"{'':28}{'without':>22}{'with the file':>22}")
    print(f"{'tok/s':28}{without_rate:22.0f}{with_rate:22.0f}")
    medians = (statistics.median(before) / 1e6, statistics.median(after) / 1e6)
    print(f"{'step, median ms':28}{medians[0]:22.2f}{medians[1]:22.2f}")
    old, new = ran(without), ran(with_)
    for stage in dict.fromkeys([*old, *new]):
        names = [", ".join(of.get(stage, ["-"])) for of in (old, new)]
        mark = "" if names[0] == names[1] else "  <- changed"
        print(f"{stage:28}{names[0]:>22}{names[1]:>22}{mark}")
    print("\n" + verdict(before, after))


if __name__ == "__main__":
    main()
