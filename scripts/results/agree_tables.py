#!/usr/bin/env python3
"""On how much of the logarithmic axis two thresholds files choose alike.

usage: agree_tables.py A.json B.json [--worst N]

Compared is what both files decide by measurement, at lengths that fill no tile. Two choices count as alike where one file
declares them a tie: its range names the other's variant, or the ratio to its runner-up may be 1 and that is the other's
variant. Exit 1 where less than 98 % of the axis agree outside of ties, 3 where the files have nothing in common.
"""
import argparse
import json
import math
import re
import signal
import sys


def text_of(variant):
    point = variant.get("point") or {}
    return "+".join(variant["stages"]) + "/" + variant["name"] + "".join(f".{k}={v}" for k, v in sorted(point.items()))


def spelled_now(text):
    """"name.bq=14" of "name.bq14", as older files have it."""
    return re.sub(r"\.([a-z_]+)(\d+)(?=\.|$)", r".\1=\2", text)


def decisions_of(path):
    with open(path, encoding="utf-8") as file:
        table = json.load(file)
    found = {}
    for of in table["classes"]:
        key = json.dumps(of["problem_class"], sort_keys=True)
        for decision in of["decisions"]:
            found[key, "+".join(decision["stages"]), decision["axis"]] = decision["ranges"]
    return found


def measured(ranges):
    return [r for r in ranges if r.get("basis", "measured") == "measured" and r.get("to")]


def at(ranges, length):
    return next((r for r in ranges if r["from"] <= length < r["to"]), None)


def tied(choice, other):
    """Whether the file that made `choice` cannot tell it from the other file's."""
    name, evidence = text_of(other["variant"]), choice["evidence"]
    if name in map(spelled_now, evidence.get("ties", [])):
        return True
    low, high = evidence.get("ratio_low"), evidence.get("ratio_high")
    return spelled_now(evidence.get("runner_up", "")) == name and low is not None and low <= 1 <= high


def compare(a, b):
    """(octaves that both decide, octaves of them that differ outside of ties, in ties), and where they differ."""
    edges = sorted({edge for r in a + b for edge in (r["from"], r["to"])})
    both = differ = ties = 0.0
    places = []
    for low, high in zip(edges, edges[1:]):
        x, y = at(a, low), at(b, low)
        if not x or not y or low < 1:
            continue
        octaves = math.log2(high / low)
        both += octaves
        if text_of(x["variant"]) == text_of(y["variant"]):
            continue
        if tied(x, y) or tied(y, x):
            ties += octaves
            continue
        differ += octaves
        places.append((octaves, low, high, text_of(x["variant"]), text_of(y["variant"])))
    return both, differ, ties, places


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` is no error
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("a")
    parser.add_argument("b")
    parser.add_argument("--worst", type=int, default=10, help="places to list (default 10)")
    options = parser.parse_args()
    try:
        a, b = decisions_of(options.a), decisions_of(options.b)
    except (OSError, ValueError, KeyError) as error:
        print(f"agree_tables.py: {error}", file=sys.stderr)
        return 2
    both = differ = ties = 0.0
    places = []
    for key in sorted(set(a) & set(b)):
        one = compare(measured(a[key]), measured(b[key]))
        both, differ, ties = both + one[0], differ + one[1], ties + one[2]
        places += [(octaves, json.loads(key[0]), key[1], key[2], *rest) for octaves, *rest in one[3]]
    if both == 0:
        print("agree_tables.py: the files decide nothing in common", file=sys.stderr)
        return 3
    share = 1 - differ / both
    print(f"{len(set(a) & set(b))} decisions, {both:.1f} octaves: {100 * share:.1f} % chosen alike or tied "
          f"({100 * ties / both:.1f} % tied), {differ:.2f} octaves differ")
    for octaves, c, stages, axis, low, high, x, y in sorted(places, key=lambda place: -place[0])[:options.worst]:
        print(f"  {octaves:5.2f}  {c['phase']} {c['dtype']} {c['q_heads']}/{c['kv_heads']} batch {c['batch_bin']} "
              f"{stages} {axis} [{low}, {high}): {x.split('/')[-1]} and {y.split('/')[-1]}")
    return 0 if share >= 0.98 else 1


if __name__ == "__main__":
    sys.exit(main())
