#!/usr/bin/env python3
"""Compares `nsatune trace summary --json` with reference_summary.py, for the files in $NSATUNE_EXTERNAL_DATA/traces.

usage: check_summary.py NSATUNE [FILE...]
Exit code 77: there is no data to compare with.
"""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys

import reference_summary as reference
from reference_summary import is_comm, rank


def expected_kernels(ops):
    groups = collections.defaultdict(list)
    for op in ops:
        if op.kind == "kernel":
            groups[op.name].append(op.end - op.start)
    return {name: (len(d), sum(d), min(d), rank(d, 50), max(d)) for name, d in groups.items()}


def expected_delays(source, launch):
    delays = [op.start - launch[op.number].start for op in source.ops if op.number in launch]
    if not delays:
        return None
    half_up = (2 * sum(delays) + len(delays)) // (2 * len(delays))
    return {"mean": half_up, "p50": rank(delays, 50), "p99": rank(delays, 99), "max": max(delays)}


def expected_syncs(source, stage):
    out = collections.defaultdict(lambda: (0, 0))

    def add(key, length):
        out[key] = (out[key][0] + 1, out[key][1] + length)
    for call in source.calls:
        if call in source.waits:
            add((call.name, source.waits[call], stage[call]), call.end - call.start)
    for start, end, _, name in source.own:
        add((name, "queue_full" if "Command Buffer" in name else "module_loading", None), end - start)
    return dict(out)


def expected_stages(source, launch, stage):
    """By stage: operations, kernels, sum, union, calls that wait, their time. None: unattributed."""
    ops, syncs = collections.defaultdict(list), collections.defaultdict(list)
    for op in source.ops:
        of_launch = stage[launch[op.number]] if op.number in launch else None
        ops["communication" if is_comm(op) else of_launch].append(op)
    for call in source.calls:
        if call in source.waits:
            syncs[stage[call]].append(call.end - call.start)
    out = {}
    for name in (set(ops) | set(syncs)) - {None}:
        busy = sum(reference.walk([op for op in ops[name] if op.device == device])[1]["busy"]
                   for device in {op.device for op in ops[name]})
        out[name] = (len(ops[name]), sum(op.kind == "kernel" for op in ops[name]),
                     sum(op.end - op.start for op in ops[name]), busy,
                     len(syncs[name]), sum(syncs[name]))
    return out, sum(op.end - op.start for op in ops[None])


def expected_steps(source, launch):
    out = []
    for name, start, end, process in reference.steps_of(source):
        def inside(call):
            return call.process == process and start <= call.start < end
        calls = [call for call in source.calls if inside(call)]
        waits = [call.end - call.start for call in calls if call in source.waits]
        waits += [e - s for s, e, p, _ in source.own if p == process and start <= s < end]
        ops = [op for op in source.ops if op.number in launch and inside(launch[op.number])]
        step = {"name": name, "start_ns": start, "duration_ns": end - start, "api_calls": len(calls),
                "host_syncs": len(waits), "host_sync_ns": sum(waits)}
        out.append(step | (reference.figures(source, launch, ops) if ops else {"span_ns": None}))
    return out or None


def expected_copies(ops):
    """By way and memory: count, bytes, time, median and best rate."""
    rows = collections.defaultdict(list)
    for op in ops:
        if op.kind == "set":
            rows["memset", "device"].append(op)
        elif op.kind == "copy":
            way = re.search("HtoD|DtoH|DtoD|PtoP", op.name.replace("Host-to-Device", "HtoD").replace(
                "Device-to-Host", "DtoH").replace("Device-to-Device", "DtoD")).group()
            memory = re.search("pageable|pinned", op.name.lower())
            rows[way, memory.group() if memory else "device" if way[0] == way[3] else None].append(op)
    out = {}
    for key, of in rows.items():
        rates = [int(1e6 * op.bytes / (op.end - op.start)) for op in of if op.bytes and op.end > op.start]
        out[key] = (len(of), sum(op.bytes for op in of), sum(op.end - op.start for op in of),
                    1e-6 * rank(rates, 50) if rates else None, 1e-6 * max(rates) if rates else None)
    return out


def repeats(steps, source):
    """Whether steps that nobody marked are most of all kernels, most of them alike."""
    if not steps or steps[0]["source"] != "repeating_kernels":
        return True
    counts = collections.Counter(step["kernels"] for step in steps[:-1])
    return (len(steps) >= 4 and counts.most_common(1)[0][1] >= .6 * (len(steps) - 1)
            and sum(step["kernels"] for step in steps) >= .5 * sum(op.kind == "kernel" for op in source.ops))


def expected_memory(events):
    if not events:
        return None
    return {"peak_allocated_bytes": max(e[2] for e in events), "peak_reserved_bytes": max(e[3] for e in events),
            "top": sorted((e[1] for e in events if e[1] > 0), reverse=True)[:10]}


def expected_gpu_ranges(ranges):
    lengths = collections.defaultdict(list)
    for name, length in ranges:
        step = re.fullmatch(r"(ProfilerStep#|step )\d+", name)
        lengths[step.group(1) + "N" if step else name].append(length)
    return {name: (len(of), sum(of), min(of), rank(of, 50), max(of)) for name, of in lengths.items()} or None


def expected(source):
    launch, stage = reference.launches(source), reference.stages_of_calls(source)
    source = source._replace(waits=reference.waits(source, launch))
    calls = len(source.calls) or None
    want = {"copies": expected_copies(source.ops) if source.ops else None, "partial_overlaps_on_a_thread": reference.partial_overlaps(source), "api_calls": calls,
            "host_syncs": expected_syncs(source, stage) if calls else None,
            "steps": expected_steps(source, launch), "memory": expected_memory(source.memory),
            "gpu_ranges_by_name": expected_gpu_ranges(source.gpu_ranges)}
    if not source.ops:
        nothing = ("span_ns", "busy_ns", "kernels", "idle_by_class_ns", "stages", "launch_to_start_ns")
        return want | dict.fromkeys(nothing) | {"devices": {}, "streams": {}}
    stages, unattributed = expected_stages(source, launch, stage)
    launched = [launch[op.number].name for op in source.ops if op.number in launch]
    devices, streams = collections.defaultdict(list), collections.defaultdict(list)
    for op in source.ops:
        devices[op.device].append(op)
        streams[op.device, op.stream, len({o.process for o in source.ops if o.process < op.process})].append(op)
    return want | reference.figures(source, launch, source.ops) | {
        "kernels_by_name": expected_kernels(source.ops), "launch_apis": dict(collections.Counter(launched)),
        "gpu_ops_with_launch": len(launched), "gpu_ops_without_launch": len(source.ops) - len(launched),
        "launch_to_start_ns": expected_delays(source, launch), "stages": stages, "unattributed_ns": unattributed,
        "devices": {id_: reference.figures(source, launch, ops) for id_, ops in devices.items()},
        "streams": {id_: reference.figures(source, launch, ops) for id_, ops in streams.items()}}


def reduced(summary):
    """The program's document in the form of expected()."""
    got = dict(summary)

    def by(key, name, values):
        if summary[key] is not None:
            got[key] = {name(row): values(row) for row in summary[key]}

    def pick(*keys):
        return lambda row: tuple(row[key] for key in keys)

    by("kernels_by_name", lambda k: k["name"], pick("count", "total_ns", "min_ns", "median_ns", "max_ns"))
    by("gpu_ranges_by_name", lambda r: r["name"], pick("count", "total_ns", "min_ns", "median_ns", "max_ns"))
    def stage(row, inferred):
        return row["stage"] + " (inferred)" if row[inferred] else row["stage"]

    by("host_syncs", lambda s: (s["api"], s["wait"], stage(s, "stage_inferred")), pick("count", "total_ns"))
    by("copies", pick("kind", "memory"), pick("count", "bytes", "total_ns", "median_gb_per_s", "best_gb_per_s"))
    if summary["steps"] and summary["steps"][0]["source"] == "repeating_kernels":
        got["steps"] = None
    by("stages", lambda s: stage(s, "inferred"),
       pick("ops", "kernels", "total_ns", "busy_ns", "host_syncs", "host_sync_ns"))
    by("devices", lambda d: d["device"], dict)
    got["streams"] = {(d["device"], s["stream"], s["process"]): s for d in summary["devices"] for s in d["streams"]}
    if summary["memory"]:
        got["memory"] = dict(summary["memory"], top=[a["bytes"] for a in summary["memory"]["top_allocations"]])
    return got


def differences(got, want, where=""):
    """What is stated in `want` and is not so in `got`."""
    if isinstance(want, dict) and isinstance(got, dict):
        if where.endswith(("_by_name", "host_syncs", "copies", "stages", "devices", "streams", "launch_apis")):
            yield from (f"{where}: {key!s:.100} is too much" for key in got.keys() - want.keys())
        for key, value in want.items():
            yield from differences(got.get(key, "absent"), value, f"{where}/{key!s:.100}")
    elif isinstance(want, list) and isinstance(got, list) and len(got) == len(want):
        for i, value in enumerate(want):
            yield from differences(got[i], value, f"{where}/{i}")
    elif got != want:
        yield f"{where}: {got!s:.200}, but it is {want!s:.200}"


def inconsistencies(summary):
    """Sums that have to hold within the document."""
    scopes = [summary] + summary["devices"] + [s for d in summary["devices"] for s in d["streams"]]
    for scope in scopes + (summary["steps"] or []):
        if scope["span_ns"] is None:
            continue
        if sum(scope["idle_by_class_ns"].values()) != scope["idle_ns"]:
            yield "classes of idle time do not add up"
        one_device = scope is not summary and scope not in (summary["steps"] or []) or len(summary["devices"]) == 1
        if one_device and scope["busy_ns"] + scope["idle_ns"] != scope["span_ns"]:
            yield "busy and idle do not add up"
    if summary["stages"] is not None:
        total = sum(stage["total_ns"] for stage in summary["stages"]) + summary["unattributed_ns"]
        if total != summary["op_sum_ns"]:
            yield "stages do not add up"
        before = [stage["idle_ns"] for stage in summary["stages"]] + [summary["unattributed_idle_ns"]]
        if None not in before and sum(before) != summary["idle_ns"]:
            yield "idle time before stages does not add up"
    if summary["gaps"] and summary["idle_ns"] is not None:
        if sum(cause["total_ns"] for cause in summary["gaps"]["causes"]) != summary["idle_ns"]:
            yield "gaps do not add up to the idle time"
        by_class = collections.Counter()
        for cause in summary["gaps"]["causes"]:
            by_class[cause["class"]] += cause["total_ns"]
        for name, ns in summary["idle_by_class_ns"].items():
            if by_class[name] != (ns or 0):
                yield f"gaps of class {name} do not add up: {by_class[name]}, but it is {ns}"
    if summary["devices"] and sum(d["kernels"] for d in summary["devices"]) != summary["kernels"]:
        yield "kernels of the devices do not add up"


def check(program, path):
    run = subprocess.run([program, "trace", "summary", str(path), "--json"], capture_output=True, text=True)
    if run.returncode != 0:
        return [f"exit code {run.returncode}: {run.stderr}"]
    summary = json.loads(run.stdout)
    source = (reference.read_nsys if path.suffix == ".sqlite" else reference.read_json)(path)
    wrong = [] if repeats(summary["steps"], source) else ["steps that do not repeat"]
    return wrong + list(differences(reduced(summary), expected(source))) + list(inconsistencies(summary))


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
        for line in wrong[:20]:
            print("  " + line)
        failed = failed or bool(wrong)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
