#!/usr/bin/env python3
"""What a thresholds file loses at the lengths of another sweep, against the best variant that was measured there.

usage: judge_thresholds.py THRESHOLDS.json RESULTS.csv[.gz] [--variants VARIANTS.json] [--worst N]

RESULTS is of `nsatune export`, of a sweep over lengths that the file does not rest on (scripts/results/judge_cuda.json). Where the
file decides nothing, the built-in order runs: VARIANTS, of `nsatune variants --json`, has it (rank); without it these lengths
are left out and counted. A time is the median over the visits of a variant on a problem. The best of several has the luck of
its noise, so a loss below .5 % says little.
"""
import argparse
import csv
import gzip
import json
import math
import signal
import statistics
import sys

SHAPE = ("direction phase dtype q_heads kv_heads head_dim_k head_dim_v cmp_block cmp_stride sel_block sel_count "
         "window").split()


def numbers(text):
    return [int(part) for part in text.split(";")]


def times_of(path):
    """(shape, batch, overlap, model, seq_len, context_len, stages) -> variant text -> median ns."""
    found = {}
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["outcome"] != "ok" or row["verification"] != "verified" or row["control"] == "true":
                continue
            key = (tuple(row[name] for name in SHAPE), int(row["batch"]), row["overlap"], row["model_dim"],
                   max(numbers(row["seq_lens"])), max(numbers(row["context_lens"])), row["stages"])
            name = row["variant"] + ("." + row["point"].replace(";", ".") if row["point"] else "")  # older files have ;
            found.setdefault(key, {}).setdefault(name, []).append(float(row["median_ns"]))
    return {key: {name: statistics.median(ns) for name, ns in names.items()} for key, names in found.items()}


def batch_bin(batch):
    return "1" if batch == 1 else "2-4" if batch <= 4 else "5-16" if batch <= 16 else "more"


def overlap_bin(overlap):
    value = float(overlap) if overlap else 0.0
    return "low" if value < 1 / 3 else "middle" if value < 2 / 3 else "high"


def axis_value(axis, shape, seq_len, context_len):
    window, block, stride = int(shape[11]), int(shape[7]), int(shape[8])
    tokens = seq_len + context_len
    return {"seq_len": seq_len, "context_len": context_len, "row_len": min(tokens, window),
            "compressed_len": 0 if tokens < block else (tokens - block) // stride + 1}[axis]


def decision_of(table, key):
    shape, batch, overlap, _, _, _, stages = key
    for of in table["classes"]:
        c = of["problem_class"]
        same = all(str(c[name]) == value for name, value in zip(SHAPE, shape))
        if not same or c["batch_bin"] != batch_bin(batch) or c["overlap_bin"] != overlap_bin(overlap):
            continue
        for decision in of["decisions"]:
            if "+".join(decision["stages"]) == stages:
                return decision
    return None


def text_of(variant):
    name = variant["name"]
    point = variant.get("point") or {}
    values = ".".join(f"{k}={v}" for k, v in point.items())
    return name + ("." + values if values else "")


def chosen(decision, key):
    shape, _, _, _, seq_len, context_len, _ = key
    at = axis_value(decision["axis"], shape, seq_len, context_len)
    length = context_len if shape[1] == "decode" else seq_len
    apart = decision.get("alignment")
    ranges = apart["ranges"] if apart and length % apart["multiple"] == 0 else decision["ranges"]
    for one in ranges:
        if one["from"] <= at and ("to" not in one or at < one["to"]):
            return text_of(one["variant"]), one.get("basis", "measured")
    return None, "built_in"


def built_in(ranks, key, measured):
    known = [(ranks[(key[6], name.split(".")[0])], name) for name in measured if (key[6], name.split(".")[0]) in ranks]
    return min(known)[1] if known else None


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` is no error
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("thresholds")
    parser.add_argument("results")
    parser.add_argument("--variants")
    parser.add_argument("--worst", type=int, default=12)
    args = parser.parse_args()
    with open(args.thresholds, encoding="utf-8") as file:
        table = json.load(file)
    ranks, roles = {}, {}
    if args.variants:
        with open(args.variants, encoding="utf-8") as file:
            for row in json.load(file)["variants"]:
                if row["backend"] != table["device"]["backend"]:
                    continue
                stages = "+".join(row["stages"])
                roles[(stages, row["name"])] = row["role"]
                if row["role"] == "candidate":
                    ranks[(stages, row["name"])] = (row.get("rank", 50), len(ranks))
    losses, left_out = [], 0
    for key, measured in times_of(args.results).items():
        measured = {name: ns for name, ns in measured.items()
                    if roles.get((key[6], name.split(".")[0]), "candidate") == "candidate"}
        decision = decision_of(table, key)
        if not decision or len(measured) < 2:
            continue
        name, basis = chosen(decision, key)
        if name is None:
            name = built_in(ranks, key, measured)
        if name not in measured:
            left_out += 1
            continue
        best = min(measured, key=measured.get)
        losses.append((measured[name] / measured[best] - 1, key, name, best, basis))
    if not losses:
        sys.exit("judge_thresholds: no problem of the results is decided by the file")
    losses.sort(key=lambda one: -one[0])
    values = sorted(one[0] for one in losses)
    print(f"{len(values)} contests ({left_out} left out): loss {100 * statistics.fmean(values):.2f} % on average, "
          f"{100 * values[min(len(values) - 1, math.ceil(.95 * len(values)) - 1)]:.2f} % at the 95th percentile, "
          f"{100 * values[-1]:.1f} % at worst")
    for loss, key, name, best, basis in losses[:args.worst]:
        shape, batch, overlap, _, seq_len, context_len, stages = key
        print(f"  {100 * loss:6.2f} %  {stages} {shape[1]} {shape[2]} {shape[3]}/{shape[4]} batch {batch} "
              f"overlap {overlap or '-'} seq_len {seq_len} context_len {context_len}: {name} ({basis}) against {best}")


if __name__ == "__main__":
    main()
