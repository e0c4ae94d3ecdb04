#!/usr/bin/env python3
"""Row by row, what two sweeps of one device measured: is anything slower than its noise?

usage: compare_sweeps.py OLD.csv[.gz] NEW.csv[.gz] [--all]

The files are those of `nsatune export`. A row is a variant at a point on a problem; its time is the median over its visits.
Sweeps of two sittings differ as a whole (clocks, temperature), so each ratio new / old is taken against the median of all
ratios. Its noise is what the row's visits and the A/A controls of both sweeps say: a row counts as slower where the ratio
is beyond three standard errors, and beyond 1 %. Exit 1 where some row is slower.
"""
import argparse
import csv
import gzip
import math
import signal
import statistics
import sys

PROBLEM = ("direction phase batch seq_lens context_lens q_heads kv_heads head_dim_k head_dim_v cmp_block cmp_stride "
           "sel_block sel_count window dtype pattern overlap model_dim layers launch timer cold").split()
LEAST = 0.01  # a difference that nobody acts on
SIGMAS = 3


def read(path):
    """(problem, stages, variant, point) -> logs of the visits' medians; and log ratios of A/A controls."""
    visits, controls, rows = {}, {}, {}
    opener = gzip.open if path.endswith(".gz") else open
    try:
        with opener(path, "rt", encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                if row["outcome"] != "ok" or row["verification"] == "wrong_result" or not row["median_ns"]:
                    continue
                key = (tuple(row[name] for name in PROBLEM), row["stages"], row["variant"],
                       row["point"].replace(";", "."))  # as older files joined coordinates
                log = math.log(float(row["median_ns"]))
                if row["control"] == "true":
                    controls.setdefault((key, row["pair_id"]), []).append(log)
                else:
                    visits.setdefault(key, []).append(log)
                    rows.setdefault((key, row["pair_id"]), []).append(log)
    except (OSError, KeyError, ValueError) as error:
        sys.exit(f"compare_sweeps: {path}: {error}; give files of `nsatune export`")
    pairs = [statistics.fmean(logs) - statistics.fmean(rows[place])
             for place, logs in controls.items() if place in rows]
    return visits, pairs


def spread(values):
    """A robust standard deviation."""
    middle = statistics.median(values)
    return 1.4826 * statistics.median(abs(value - middle) for value in values)


def error_of(logs, floor):
    """Standard error of the median of the visits, at least that of an A/A control's visits."""
    own = spread(logs) if len(logs) > 2 else 0
    return 1.25 * max(own, floor) / math.sqrt(len(logs))


def text_of(key):
    problem, stages, variant, point = key
    p = dict(zip(PROBLEM, problem))
    length = p["seq_lens"] if p["context_lens"] in ("", "0") else f"{p['seq_lens']}@{p['context_lens']}"
    return (f"{stages}/{variant}{'.' + point if point else ''}  {p['phase']} S {length} B {p['batch']} "
            f"{p['q_heads']}/{p['kv_heads']} {p['head_dim_k']}/{p['head_dim_v']} {p['dtype']} {p['pattern']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--all", action="store_true", help="a line for every row")
    options = parser.parse_args()
    (old, old_controls), (new, new_controls) = read(options.old), read(options.new)
    both = [key for key in old if key in new]
    if not both:
        sys.exit("compare_sweeps: the files have no row in common")
    controls = old_controls + new_controls
    floor = spread(controls) / math.sqrt(2) if len(controls) > 2 else 0.005  # of one visit
    logs = {key: statistics.median(new[key]) - statistics.median(old[key]) for key in both}
    shift = statistics.median(logs.values())
    found = []
    for key in both:
        noise = math.hypot(error_of(old[key], floor), error_of(new[key], floor))
        own = logs[key] - shift
        beyond = abs(own) > max(LEAST, SIGMAS * noise)
        found.append((own, noise, beyond, key))
    found.sort(reverse=True, key=lambda one: one[0])
    slower = [one for one in found if one[2] and one[0] > 0]
    faster = [one for one in found if one[2] and one[0] < 0]
    print(f"{len(both)} rows in both, {len(old) - len(both)} only in {options.old}, "
          f"{len(new) - len(both)} only in {options.new}")
    print(f"as a whole {math.expm1(shift):+.2%}; noise of a visit by {len(controls)} A/A controls {floor:.2%}")
    print(f"slower beyond their noise: {len(slower)}; faster: {len(faster)}; median of |ratio - 1| "
          f"{statistics.median(abs(one[0]) for one in found):.2%}")
    for own, noise, beyond, key in found if options.all else slower:
        mark = "*" if beyond else " "
        print(f"{mark} {math.expm1(own):+7.2%} +- {SIGMAS * noise:.2%}  {math.exp(statistics.median(old[key])) * 1e-3:.1f} -> "
              f"{math.exp(statistics.median(new[key])) * 1e-3:.1f} us  n {len(old[key])}/{len(new[key])}  {text_of(key)}")
    return 1 if slower else 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` is no error
    sys.exit(main())
