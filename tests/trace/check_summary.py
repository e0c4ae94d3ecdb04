#!/usr/bin/env python3
"""Recomputes `nsatune trace summary --json` in another way, from the files in $NSATUNE_EXTERNAL_DATA/traces.

usage: check_summary.py NSATUNE [FILE...]
Shares no code and no method with the program: times are cut at every event and walked through once with
counters. Exit code 77: there is no data to compare with.
"""
import collections
import gzip
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
from decimal import Decimal

Op = collections.namedtuple("Op", "start end name kind device stream process correlation")
Call = collections.namedtuple("Call", "start end name thread process correlation")
Span = collections.namedtuple("Span", "start end thread")


def ns(microseconds):
    value = Decimal(microseconds) * 1000
    whole = int(value)
    return whole + (1 if abs(value - whole) >= Decimal("0.5") else 0)


def read_json(path):
    data = path.read_bytes()
    text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    document = json.loads(text, parse_float=str)
    events = document["traceEvents"] if isinstance(document, dict) else document
    kinds = {"kernel": "kernel", "gpu_memcpy": "copy", "gpu_memset": "set"}
    ops, calls, spans, overheads = [], [], [], []
    for event in events:
        category = event.get("cat")
        if event["ph"] != "X" or category is None:
            continue
        args = event.get("args", {})
        start = ns(event["ts"])
        end = start + ns(event["dur"])
        thread = (event["pid"], event["tid"])
        if category in kinds:
            ops.append(Op(start, end, event["name"], kinds[category], args["device"], args["stream"], 0,
                          args.get("correlation", 0)))
        elif category in ("cuda_runtime", "cuda_driver"):
            calls.append(Call(start, end, event["name"], thread, 0, args.get("correlation", 0)))
            spans.append(Span(start, end, thread))
        elif category in ("cpu_op", "user_annotation"):
            spans.append(Span(start, end, thread))
        elif category == "overhead":
            overheads.append((start, end))
    return ops, calls, spans, overheads


def read_nsys(path):
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    ops, calls, spans = [], [], []
    table = "CUPTI_ACTIVITY_KIND_"
    columns = "start, end, deviceId, streamId, globalPid >> 24, correlationId"
    for row in db.execute(f"SELECT {columns}, value FROM {table}KERNEL JOIN StringIds ON id = demangledName"):
        ops.append(Op(row[0], row[1], row[6], "kernel", *row[2:6]))
    for row in db.execute(f"SELECT {columns} FROM {table}MEMCPY"):
        ops.append(Op(row[0], row[1], "", "copy", *row[2:6]))
    for row in db.execute(f"SELECT {columns} FROM {table}MEMSET"):
        ops.append(Op(row[0], row[1], "", "set", *row[2:6]))
    for row in db.execute("SELECT start, end, value, globalTid, globalTid >> 24, correlationId "
                          f"FROM {table}RUNTIME JOIN StringIds ON id = nameId"):
        calls.append(Call(row[0], row[1], re.sub(r"_v\d{4,}$", "", row[2]), *row[3:]))
        spans.append(Span(row[0], row[1], row[3]))
    for row in db.execute("SELECT start, end, globalTid FROM NVTX_EVENTS WHERE eventType IN (59, 60) "
                          "AND end IS NOT NULL"):
        spans.append(Span(*row))
    overheads = db.execute(f"SELECT o.start, o.end FROM {table}OVERHEAD o JOIN ENUM_CUPTI_OVERHEAD_TYPE t "
                           "ON t.id = overheadType WHERE t.label LIKE '%(Profiler)'").fetchall()
    return ops, calls, spans, overheads


def is_comm(op):
    return op.kind == "kernel" and re.search("nccl|rccl", op.name, re.IGNORECASE)


def walk(ops, calls, launch, overheads):
    """Cuts the time at every event and adds each piece to what it is."""
    points = collections.defaultdict(list)

    def add(what, start, end):
        if start < end:
            points[start].append((what, 1))
            points[end].append((what, -1))

    for op in ops:
        kind = "mem" if op.kind != "kernel" else "comm" if is_comm(op) else "compute"
        add(kind, op.start, op.end)
        if op in launch:
            add("pending", launch[op].start, op.start)
    for call in calls:
        if "Synchronize" in call.name:
            add("sync", call.start, call.end)
    for start, end in overheads:
        add("overhead", start, end)
    begin, end = min(op.start for op in ops), max(op.end for op in ops)
    points[begin], points[end]
    starts = collections.defaultdict(list)
    for op in ops:
        if op.start < op.end:
            starts[op.start].append(op)
    on, out, gap = collections.Counter(), collections.Counter(), collections.Counter()
    times = sorted(points)
    for now, then in zip(times, times[1:]):
        for what, step in points[now]:
            on[what] += step
        if now < begin or then > end:
            continue
        length = then - now
        working = [kind for kind in ("compute", "comm", "mem") if on[kind]]
        for kind in working:
            out[kind] += length
        if on["compute"] and on["comm"]:
            out["both"] += length
        if working:
            out["busy"] += length
        elif on["overhead"]:
            out["profiler_overhead"] += length
        elif on["sync"]:
            out["sync"] += length
        elif on["pending"]:
            out["kernel_wait"] += length
        else:
            gap["waiting"] += length
        if starts.get(then) and gap["waiting"]:  # what ends the gap says whose wait it was
            known = any(op in launch for op in starts[then])
            out["host_wait" if known else "other"] += gap.pop("waiting")
    return end - begin, out


def rank(values, share):
    return sorted(values)[max(0, -(-len(values) * share // 100) - 1)]


def by_name(ops):
    groups = collections.defaultdict(list)
    for op in ops:
        if op.kind == "kernel":
            groups[op.name].append(op.end - op.start)
    return {name: (len(d), sum(d), min(d), rank(d, 50), max(d)) for name, d in groups.items()}


def overlaps_on_streams(ops):
    last, count = {}, 0
    for op in sorted(ops, key=lambda o: (o.start, -o.end)):
        key = (op.process, op.device, op.stream)
        count += key in last and op.start < last[key]
        last[key] = max(op.end, last.get(key, op.end))
    return count


def partial_overlaps(spans):
    count, stack = 0, []
    for span in sorted(spans, key=lambda s: (str(s.thread), s.start, -s.end)):
        stack = stack if stack and stack[-1].thread == span.thread else []
        while stack and stack[-1].end <= span.start:
            stack.pop()
        count += bool(stack) and stack[-1].end < span.end
        stack.append(span)
    return count


def recompute(ops, calls, spans, overheads):
    by_id = {(call.process, call.correlation): call for call in calls if call.correlation}
    launch = {op: by_id[op.process, op.correlation] for op in ops
              if (op.process, op.correlation) in by_id}
    want = {"partial_overlaps_on_a_thread": partial_overlaps(spans)}
    syncs = collections.defaultdict(lambda: [0, 0])
    for call in calls:
        if "Synchronize" in call.name:
            syncs[call.name][0] += 1
            syncs[call.name][1] += call.end - call.start
    want["api_calls"] = len(calls) if calls else None
    want["host_syncs"] = {api: tuple(sum_) for api, sum_ in syncs.items()} if calls else None
    if not ops:
        return want | dict.fromkeys(("span_ns", "busy_ns", "kernels", "idle_by_class_ns", "stages"))
    span, out = walk(ops, calls, launch, overheads)
    kernels = [op for op in ops if op.kind == "kernel"]
    delays = [op.start - launch[op].start for op in ops if op in launch]
    return want | {
        "span_ns": span, "busy_ns": out["busy"], "idle_ns": span - out["busy"],
        "compute_ns": out["compute"], "comm_ns": out["comm"], "mem_ns": out["mem"],
        "comm_overlapped_by_compute_ns": out["both"], "exposed_comm_ns": out["comm"] - out["both"],
        "kernel_sum_ns": sum(op.end - op.start for op in kernels), "kernels": len(kernels),
        "op_sum_ns": sum(op.end - op.start for op in ops),
        "memops": len(ops) - len(kernels), "comm_kernels": sum(map(bool, map(is_comm, ops))),
        "distinct_kernels": len({op.name for op in kernels}), "kernels_by_name": by_name(ops),
        "launch_apis": dict(collections.Counter(launch[op].name for op in ops if op in launch)),
        "gpu_ops_with_launch": len(delays), "gpu_ops_without_launch": len(ops) - len(delays),
        "launch_to_start_ns": {"p50": rank(delays, 50), "p99": rank(delays, 99), "max": max(delays),
                               "mean": (2 * sum(delays) + len(delays)) // (2 * len(delays))},
        "idle_by_class_ns": {name: out[name] for name in
                             ("host_wait", "kernel_wait", "sync", "profiler_overhead", "other")},
        "same_stream_overlaps": overlaps_on_streams(ops),
    }


def reduced(summary):
    """The program's document in the form of recompute()."""
    got = dict(summary)
    if got["kernels_by_name"] is not None:
        keys = ("count", "total_ns", "min_ns", "median_ns", "max_ns")
        got["kernels_by_name"] = {k["name"]: tuple(k[key] for key in keys) for k in got["kernels_by_name"]}
    if got["host_syncs"] is not None:
        sums = collections.defaultdict(lambda: [0, 0])
        for row in got["host_syncs"]:
            sums[row["api"]][0] += row["count"]
            sums[row["api"]][1] += row["total_ns"]
        got["host_syncs"] = {api: tuple(sum_) for api, sum_ in sums.items()}
    return got


def inconsistencies(summary):
    """Sums that have to hold within the document."""
    scopes = [summary] + summary["devices"] + [s for d in summary["devices"] for s in d["streams"]]
    for scope in scopes + (summary["steps"] or []):
        if scope["span_ns"] is None:
            continue
        if sum(scope["idle_by_class_ns"].values()) != scope["idle_ns"]:
            yield "classes of idle time do not add up"
        if scope["busy_ns"] + scope["idle_ns"] != scope["span_ns"]:
            yield "busy and idle do not add up"
    if summary["stages"] is not None:
        total = sum(stage["total_ns"] for stage in summary["stages"]) + summary["unattributed_ns"]
        if total != summary["op_sum_ns"]:
            yield "stages do not add up"
    if summary["devices"] and sum(d["kernels"] for d in summary["devices"]) != summary["kernels"]:
        yield "kernels of the devices do not add up"


def check(program, path):
    run = subprocess.run([program, "trace", "summary", str(path), "--json"], capture_output=True, text=True)
    if run.returncode != 0:
        return [f"exit code {run.returncode}: {run.stderr}"]
    summary = json.loads(run.stdout)
    want = recompute(*(read_nsys if path.suffix == ".sqlite" else read_json)(path))
    got = reduced(summary)
    wrong = [f"{key}: {got[key]!s:.300}, but it is {value!s:.300}" for key, value in want.items()
             if got[key] != value]
    return wrong + list(inconsistencies(summary))


def main():
    files = [pathlib.Path(name) for name in sys.argv[2:]]
    data = os.environ.get("NSATUNE_EXTERNAL_DATA")
    if not files and data:
        files = sorted(path for path in (pathlib.Path(data) / "traces").iterdir()
                       if path.name.endswith((".json.gz", ".json", ".sqlite")))
    if not files:
        print("skipped: NSATUNE_EXTERNAL_DATA names no folder with traces")
        sys.exit(77)
    failed = False
    for path in files:
        wrong = check(sys.argv[1], path)
        print(f"{path.name}: {'wrong' if wrong else 'confirmed'}")
        for line in wrong:
            print("  " + line)
        failed = failed or bool(wrong)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
