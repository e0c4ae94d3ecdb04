#!/usr/bin/env python3
"""Strict rules for Chrome trace JSON: what Perfetto and chrome://tracing drop, draw wrongly or
refuse without saying so.

  validate_chrome.py PROGRAM          converts traces with `PROGRAM trace convert` and checks them:
                                      a hostile one made here, and all of $NSATUNE_EXTERNAL_DATA/traces
  validate_chrome.py --file F...      checks files

Shares nothing with the program. Exit 0: all obey, 1: some do not.
"""
import collections
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PHASES = {"X", "B", "E", "b", "e", "s", "f", "i", "C", "M"}
LARGEST_TS = 9e12  # microseconds: above it a double of nanoseconds loses digits
TIME = re.compile(r"(0|[1-9][0-9]*)\.[0-9]{3}$")


class Number(str):
    """A number as it stands in the text."""


def refuse(text):
    raise ValueError(f"{text} is not JSON")


def load(path):
    data = pathlib.Path(path).read_bytes()
    if str(path).endswith(".gz"):
        data = gzip.decompress(data)
    return json.loads(data.decode("utf-8"), parse_float=Number, parse_constant=refuse)


def ns(number):
    whole, decimals = number.split(".")
    return int(whole) * 1000 + int(decimals)


class Checker:
    def __init__(self):
        self.problems = []
        self.count = 0

    def wrong(self, what, event=None):
        if len(self.problems) < 20:
            self.problems.append(what + ("" if event is None else f": {str(event)[:200]}"))

    def check(self, path):
        try:
            document = load(path)
        except (ValueError, UnicodeDecodeError) as error:
            return [f"no strict JSON: {error}"]
        events = document.get("traceEvents") if isinstance(document, dict) else None
        if not isinstance(events, list):
            return ["no list of traceEvents"]
        self.count = len(events)
        for event in events:
            self.fields(event)
        if not self.problems:
            self.rows(events)
            self.flows(events)
            self.asyncs(events)
            self.names(events)
        return self.problems

    def fields(self, e):
        if not isinstance(e, dict) or e.get("ph") not in PHASES:
            return self.wrong("no event of a known phase", e)
        for key in ("pid", "tid"):
            if type(e.get(key)) is not int or not 0 <= e[key] < 2**32:
                self.wrong(f"{key} is not a number of 32 bits", e)
        if e["ph"] != "M" and not (isinstance(e.get("ts"), Number) and TIME.match(e["ts"])):
            self.wrong("ts has not exactly three decimals", e)
        elif e["ph"] != "M" and float(e["ts"]) > LARGEST_TS:
            self.wrong("ts is so large that viewers lose its nanoseconds", e)
        if e["ph"] == "X" and not (isinstance(e.get("dur"), Number) and TIME.match(e["dur"])):
            self.wrong("dur has not exactly three decimals", e)
        if e["ph"] != "E" and not isinstance(e.get("name"), str):
            self.wrong("no name", e)
        if e["ph"] == "i" and e.get("s") not in ("g", "p", "t"):
            self.wrong("an instant without scope", e)
        if e["ph"] == "C" and not all(
                isinstance(v, (int, Number)) for v in e.get("args", {"": ""}).values()):
            self.wrong("a counter whose value is not a number", e)
        if e["ph"] == "f" and e.get("bp") != "e":
            self.wrong("a flow that ends at the next slice, not at its own", e)
        if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset") and e["ph"] == "X":
            for key in ("device", "stream", "correlation"):
                if type(e.get("args", {}).get(key)) is not int:
                    self.wrong(f"GPU work without {key}", e)

    def rows(self, events):
        """Slices of a row are disjoint or nested; what is begun is ended, or is last in its row."""
        self.slices = collections.defaultdict(list)
        begun = collections.defaultdict(list)
        for e in events:
            row = (e["pid"], e["tid"])
            if e["ph"] == "X":
                start = ns(e["ts"])
                self.slices[row].append((start, start + ns(e["dur"]), e["name"]))
            elif e["ph"] == "B":
                begun[row].append(ns(e["ts"]))
            elif e["ph"] == "E":
                if not begun[row]:
                    self.wrong("an end without a begin", e)
                else:
                    start = begun[row].pop()
                    self.slices[row].append((start, ns(e["ts"]), "B"))
        for row, slices in self.slices.items():
            slices.sort(key=lambda s: (s[0], -s[1]))
            opened = []
            for start, end, name in slices:
                while opened and opened[-1] <= start:
                    opened.pop()
                if opened and opened[-1] < end:
                    self.wrong(f"row {row}: slices overlap at {start} ns: {name[:60]}")
                opened.append(end)
            if begun[row] and min(begun[row]) < max(s[1] for s in slices):
                self.wrong(f"row {row}: a begin without an end, and slices after it")

    def holds(self, e):
        """Whether a slice of some length of the event's row is there at its time."""
        at = ns(e["ts"])
        slices = self.starts.setdefault((e["pid"], e["tid"]), None)
        if slices is None:
            slices = collections.defaultdict(int)
            for start, end, _ in self.slices[(e["pid"], e["tid"])]:
                slices[start] = max(slices[start], end)
            self.starts[(e["pid"], e["tid"])] = slices
        if slices.get(at, at) > at:
            return True
        return any(start <= at < end for start, end in slices.items())

    def flows(self, events):
        self.starts = {}
        ends = {"s": {}, "f": {}}
        for e in events:
            if e["ph"] not in ends:
                continue
            key = (e["cat"], e["name"], e.get("id"))
            if type(e.get("id")) is not int:
                self.wrong("a flow whose id is not a number", e)
            if key in ends[e["ph"]]:
                self.wrong("a flow with two ends of one kind", e)
            ends[e["ph"]][key] = e
            if not self.holds(e):
                self.wrong("a flow's end in no slice", e)
        for key in ends["s"].keys() ^ ends["f"].keys():
            self.wrong(f"a flow with one end: {key}")
        for key, start in ends["s"].items():
            if key in ends["f"] and ns(start["ts"]) > ns(ends["f"][key]["ts"]):
                self.wrong("a flow that runs backwards", start)
        self.arrows = len(ends["s"])

    def asyncs(self, events):
        begun = {}
        for e in events:
            if e["ph"] == "b":
                if (e["pid"], e["id"]) in begun:
                    self.wrong("an async id twice", e)
                begun[(e["pid"], e["id"])] = ns(e["ts"])
            elif e["ph"] == "e" and begun.pop((e["pid"], e["id"]), 2**62) > ns(e["ts"]):
                self.wrong("an async end before or without its begin", e)
        if begun:
            self.wrong("an async begin without an end")

    def names(self, events):
        threads, processes = set(), set()
        for e in events:
            if e["ph"] != "M":
                continue
            if e["name"] == "thread_name":
                if (e["pid"], e["tid"]) in threads:
                    self.wrong("a row with two names", e)
                threads.add((e["pid"], e["tid"]))
            elif e["name"] == "process_name":
                processes.add(e["pid"])
        for row in self.slices:
            if row not in threads or row[0] not in processes:
                self.wrong(f"row {row} has no name")


def hostile_trace():
    """Whatever a recorder may have to write: names, overlaps, ids, times."""
    events = []

    def add(cat, name, ts, dur, tid=1, pid=77, **args):
        events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts,
                       "dur": dur, "args": args})

    names = ["quote\" back\\slash", "".join(map(chr, range(0x20))), "\x7f\u2028\u2029",
             "\U0001f600 \ud7ff \ufffd", "x" * 1_000_000, "", "{\"ph\":\"X\"}", "</script>"]
    for i, name in enumerate(names):
        add("cuda_runtime", name, 1e9 + 10 * i, 5, correlation=i + 1)
        # Programmatic dependent launch: each kernel starts before the one ahead has ended.
        add("kernel", name, 1e9 + 10 * i + 3, 14.5, tid=7, pid=0, device=0, stream=7,
            correlation=i + 1)
        add("nvtx", name, 1e9 + 10 * i - 1, 12, tid=2)  # partial overlaps on a thread
    for node in range(50):  # a graph: one launch, many kernels
        add("kernel", "node", 2e9 + node * 2, 1.25, tid=9, pid=0, device=0, stream=9,
            correlation=500, **{"graph id": 3, "graph node id": 100 + node})
    add("cuda_runtime", "cudaGraphLaunch", 2e9 - 1, 0.5, correlation=500)
    add("cuda_runtime", "instant call", 2e9 - 5, 0, correlation=600)
    add("kernel", "of an instant call", 2e9 + 500, 1, tid=7, pid=0, device=0, stream=7,
        correlation=600)
    add("kernel", "before its launch", 2e9 + 600, 1, tid=7, pid=0, device=0, stream=-3,
        correlation=601)
    add("cuda_runtime", "late", 2e9 + 700, 1, tid="main", pid="python", correlation=601)
    events.append({"ph": "B", "cat": "nvtx", "name": "never closed", "pid": 77, "tid": 1,
                   "ts": 1e9})
    events.append({"ph": "C", "name": "clock", "pid": 0, "tid": 0, "ts": 1e9,
                   "args": {"value": 1980.5}})
    events.append({"ph": "i", "cat": "nvtx", "name": "mark", "s": "t", "pid": 77, "tid": 1,
                   "ts": 1e9})
    for phase, ts in (("b", 1e9), ("e", 2e9)):
        events.append({"ph": phase, "cat": "nvtx", "name": "over threads", "id": 5, "pid": 77,
                       "tid": 1, "ts": ts})
    return {"traceEvents": events, "odd \"key\"": {"a": [None, True]}}


def check(label, path):
    checker = Checker()
    problems = checker.check(path)
    for problem in problems:
        print(f"{label}: {problem}")
    if not problems:
        print(f"{label}: {checker.count} events, {checker.arrows} arrows, good")
    return not problems


def convert_and_check(program, source, folder, label):
    target = folder / "out.json.gz"
    subprocess.run([program, "trace", "convert", str(source), str(target), "--quiet"], check=True)
    return check(label, target)


def main():
    if len(sys.argv) > 2 and sys.argv[1] == "--file":
        return 0 if all([check(path, path) for path in sys.argv[2:]]) else 1
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    good = True
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        hostile = folder / "hostile.json"
        hostile.write_text(json.dumps(hostile_trace()))
        good &= convert_and_check(sys.argv[1], hostile, folder, "made here")
        data = os.environ.get("NSATUNE_EXTERNAL_DATA")
        for source in sorted(pathlib.Path(data, "traces").iterdir()) if data else []:
            good &= convert_and_check(sys.argv[1], source, folder, source.name)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
