#!/usr/bin/env python3
"""Judges the decisions against worlds whose truth is known, and writes docs/evidence/decisions.md.

Every world is seeded and played by `nsatune worker-sim` through the real sweep and tune; the truth comes from
`nsatune worker-sim --truth`. Recorded noise is taken from $NSATUNE_EXTERNAL_DATA/noise; without it those rows are left out.
Needs Python alone.
"""
import argparse
import pathlib
import sys
import time

from evidence import figures, worlds
from evidence.play import Bench, Failed

ROOT = pathlib.Path(__file__).resolve().parent.parent
QUICK = ("three_crossings", "coverage", "identical", "true_shift", "off_grid", "economy")


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nsatune", default=str(ROOT / "build/cpu/bin/nsatune"), help="the program")
    parser.add_argument("--worlds", type=int, help="worlds a cell (default 40, with --quick 2)")
    parser.add_argument("--first-seed", type=int, default=0, help="seed of the first world of each cell (default 0)")
    parser.add_argument("--only", action="append", choices=sorted(figures.ALL), help="only this figure (repeatable)")
    parser.add_argument("--quick", action="store_true", help="a subset on a short grid, printed and not written")
    parser.add_argument("--jobs", type=int, default=2, help="worlds side by side")
    parser.add_argument("-o", "--output", help="file to write (default docs/evidence/decisions.md; of a part: none)")
    parser.add_argument("--check", action="store_true", help="exit 1 where a goal is missed")
    return parser.parse_args()


def measure(o, bench, n, lengths):
    """Rows of all figures, with what each cost in wall seconds."""
    names = o.only or (QUICK if o.quick else figures.ALL)
    rows, costs = [], {}
    for name in names:
        begin = time.monotonic()
        rows += figures.ALL[name](bench, n, lengths)
        costs[name] = time.monotonic() - begin
        print(f"{name}: {costs[name]:.0f} s", file=sys.stderr)
    return rows, costs


def page(rows, costs, seeds, lengths):
    verdict = {True: "met", False: "**missed**", None: ""}
    recorded = ", ".join(worlds.recorded_files()) or "absent, so that its rows are left out (NSATUNE_EXTERNAL_DATA)"
    lines = ["# Decisions against a known truth", "",
             "Written by `scripts/evidence_decisions.py`; do not edit. Worlds with known times are played by",
             "`nsatune worker-sim` through the real `sweep` and `tune`, in virtual time.", "",
             f"{len(seeds)} worlds a cell, seeds {seeds[0]} to {seeds[-1]}; {len(lengths)} lengths from {lengths[0]} to {lengths[-1]}; "
             f"recorded noise: {recorded}.", "",
             "| figure | goal | measured | |", "|---|---|---|---|"]
    lines += [f"| {what} | {goal} | {measured} | {verdict[met]} |" for what, goal, measured, met in rows]
    met = [row[3] for row in rows if row[3] is not None]
    lines += ["", f"{sum(met)} of {len(met)} goals met. Wall seconds: "
              + ", ".join(f"{name} {cost:.0f}" for name, cost in costs.items()) + "."]
    return "\n".join(lines) + "\n"


def main():
    o = options()
    n = o.worlds or (2 if o.quick else 40)
    lengths = worlds.grid(1, 128, 8192) if o.quick else worlds.grid()
    try:
        bench = Bench(o.nsatune, o.jobs, o.first_seed)
        rows, costs = measure(o, bench, n, lengths)
    except (Failed, OSError) as error:
        sys.exit(f"evidence_decisions: {error}")
    text = page(rows, costs, bench.seeds(n), lengths)
    output = o.output or (None if o.quick or o.only else ROOT / "docs/evidence/decisions.md")
    if output:
        pathlib.Path(output).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(output).write_text(text)
    else:
        print(text, end="")
    return int(o.check and any(row[3] is False for row in rows))


if __name__ == "__main__":
    sys.exit(main())
