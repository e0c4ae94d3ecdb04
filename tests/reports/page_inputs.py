"""Inputs of the page: nights of series and a trace, with names that would break a page which does not escape them."""
import json
import random
import time

HOSTILE = ['</script><script>window.hacked = 1</script>', '"><img src=x onerror="window.hacked = 1">',
           "javascript:window.hacked=1//' \u2028 & <!-- {{DATA}}", "=cmd|' /C calc'!A0 \u202e evil"]


def history_csv(path, names, nights, replicates, factor_at=lambda name, night: 1.0, hole=None):
    """Nights of 1 ms with .3 % of noise; the environment changes at a third."""
    rng = random.Random(7)
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    with open(path, "w", encoding="utf-8") as f:
        f.write("time,commit,environment," + ",".join(quoted) + "\n")
        for night in range(nights):
            day = time.strftime("%Y-%m-%d", time.gmtime(1760000000 + 86400 * night))
            levels = [factor_at(name, night) * rng.gauss(1, 0.003) for name in names]
            for _ in range(replicates):
                cells = ["" if hole == (name, night) else f"{level * rng.gauss(1, 0.001):.7g}"
                         for name, level in zip(names, levels)]
                f.write(f"{day},c{night:03d},{'old' if night < nights / 3 else 'new'}," + ",".join(cells) + "\n")


def trace_json(path, stage):
    """Two steps on a GPU: 3 ms in a stage, 1 ms in none, 6 ms idle; and a kernel of that name."""
    events = [{"ph": "X", "cat": "gpu_device", "name": "gpu", "pid": 0, "tid": 0, "ts": 0, "dur": 0}]

    def event(category, name, ts, dur, **more):
        events.append({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur, **more})

    def launched(name, at, start, dur):
        correlation = len(events)
        event("cuda_runtime", "cudaLaunchKernel", at, 1, args={"correlation": correlation})
        event("kernel", name, start, dur, args={"correlation": correlation, "device": 0, "stream": 7})

    for step in range(2):
        begin = 20000 * step
        event("user_annotation", f"ProfilerStep#{step}", begin, 19000)
        event("user_annotation", stage, begin, 100)
        launched(HOSTILE[0], begin + 10, begin + 1000, 3000)
        launched("other", begin + 9000, begin + 10000, 1000)
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"traceEvents": events}, f)


def work_json(path):
    """Products of 1,024 x 1,024 in an operator, a copy to the device that the host waits for, an allocation, a range on the GPU, and
    what our recorder counted."""
    events = []

    def event(category, name, ts, dur, thread=1, **args):
        events.append({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": thread, "ts": ts, "dur": dur, "args": args})

    for step in range(3):
        at, ids = 1000 * step, [10 * step + n for n in range(1, 5)]
        event("user_annotation", f"ProfilerStep#{step}", at, 999)
        event("cuda_runtime", "cudaMalloc", at + 1, 50)
        event("cuda_runtime", "cudaMemcpy", at + 60, 140, correlation=ids[0])
        event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", at + 70, 100, correlation=ids[0], device=0, stream=7, bytes=1000000 * (step + 1))
        event("cpu_op", "aten::mm", at + 210, 30, **{"Input Dims": [[1024, 1024], [1024, 1024]], "Input type": ["float", "float"]})
        event("cuda_runtime", "cudaLaunchKernel", at + 215, 5, correlation=ids[1])
        event("kernel", "gemm", at + 225, 200, correlation=ids[1], device=0, stream=7)
        event("gpu_user_annotation", "forward", at + 225, 200, device=0, stream=7)
        event("cuda_runtime", "cudaDeviceSynchronize", at + 250, 180, correlation=ids[2])
    totals = {"complete": True, "launches": 6, "recorded": 5, "dropped": 1, "lost": 0, "outside": 0, "torn_bytes": 0}
    process = {"pids": ["1"], "pid": "1", "rank": None, "world_size": None, "metadata": {}, "totals": totals,
               "notes": [{"what": "hooks", "text": "ranges cost .1 % of a step\n" + HOSTILE[1]}]}
    recording = {"version": 1, "origin_ns": 0, "untimed_ops": 0, "holds_overhead": True, "processes": [process],
                 "device_pids": [{"pid": "0", "device": 0}]}
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"traceEvents": events, "nsatune": recording}, f)


def rank_json(path, rank):
    """A rank of two that computes beside an all-reduce in another stream."""
    events = []

    def event(category, name, ts, dur, **args):
        events.append({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur, "args": args})

    event("user_annotation", "forward", 0, 20)
    for correlation, (name, call, start, dur, stream) in enumerate((("gemm", 5, 10, 100, 7), ("gemm", 6, 110, 100, 7),
                                                                    ("ncclDevKernel_AllReduce", 8, 120, 200, 20)), 1):
        event("cuda_runtime", "cudaLaunchKernel", call, 1, correlation=correlation)
        comm = {"Collective name": "allreduce", "In msg nelems": 250000, "Out msg nelems": 250000, "Group size": 2, "dtype": "Float",
                "Process Group Name": "dp"}
        event("kernel", name, start, dur, correlation=correlation, device=0, stream=stream, **(comm if stream == 20 else {}))
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"host_name": "n1", "baseTimeNanoseconds": 1790000000000000000, "distributedInfo": {"rank": rank, "world_size": 2},
                   "traceEvents": events}, f)
