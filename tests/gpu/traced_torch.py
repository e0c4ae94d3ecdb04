#!/usr/bin/env python3
"""An eager PyTorch loop for the injected tracer: NVTX ranges, a CUDA graph, DataLoader workers.

  traced_torch.py [--steps 60] [--kernels 50] [--loop 20000] [--self-profile] [--on-off] [--os-exit]

Prints one line of JSON: microseconds per eager launch, and what was launched in the counted parts. With --on-off every second
loop lies between cudaProfilerStart and cudaProfilerStop, so that `trace record --profiler-api` records just those.
"""
import argparse
import json
import os
import statistics
import time

import torch
from torch.utils.data import DataLoader, TensorDataset

arguments = argparse.ArgumentParser()
arguments.add_argument("--steps", type=int, default=60)
arguments.add_argument("--kernels", type=int, default=50)
arguments.add_argument("--loop", type=int, default=20000)
arguments.add_argument("--repeats", type=int, default=5)
arguments.add_argument("--self-profile", action="store_true")
arguments.add_argument("--on-off", action="store_true")
arguments.add_argument("--os-exit", action="store_true")
o = arguments.parse_args()

x = torch.ones(1024, device="cuda")
data = DataLoader(TensorDataset(torch.randn(o.steps * 4, 1024)), batch_size=4, num_workers=2)
torch.cuda.synchronize()


def steps():
    for i, (batch,) in enumerate(data):
        torch.cuda.nvtx.range_push(f"step {i}")
        torch.cuda.nvtx.range_push("forward")
        y = batch.cuda(non_blocking=True)
        for _ in range(o.kernels):
            y = y * 1.0001
        torch.cuda.nvtx.range_pop()
        torch.cuda.nvtx.range_push("attend_selected")
        z = y @ y.T
        z.sum().item()
        torch.cuda.nvtx.range_pop()
        torch.cuda.nvtx.range_pop()


def replay():
    graph = torch.cuda.CUDAGraph()
    static = torch.ones(4096, device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            static * 2 + 1
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        out = static
        for _ in range(10):
            out = out * 1.001 + 0.5
    torch.cuda.nvtx.range_push("graphs")
    for _ in range(30):
        graph.replay()
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_pop()


def loop_us():
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(o.loop):
        x.add_(1.0)
    us = (time.perf_counter() - start) / o.loop * 1e6
    torch.cuda.synchronize()
    return us


def launch_us():
    return statistics.median(loop_us() for _ in range(o.repeats))


def on_off_us():
    """Microseconds per launch of the loops that are recorded, and of those between them."""
    times = {True: [], False: []}
    for number in range(o.repeats):
        recorded = number % 2 == 1
        if recorded:
            torch.cuda.profiler.start()
        times[recorded].append(loop_us())
        if recorded:
            torch.cuda.profiler.stop()
    return {"us_recorded": statistics.median(times[True]), "us_not_recorded": statistics.median(times[False])}


profiled = None
if o.self_profile:
    with torch.profiler.profile() as p:
        steps()
    profiled = len(p.events())
else:
    steps()
replay()
on_off = on_off_us() if o.on_off else {}
us = launch_us() if o.loop and not o.on_off else None
print(json.dumps({"us_per_launch": us, "loop_kernels": o.loop * o.repeats,
                  "graph_replays": 30, "own_profiler_events": profiled, **on_off}), flush=True)
if o.os_exit:
    time.sleep(0.3)
    os._exit(9)
