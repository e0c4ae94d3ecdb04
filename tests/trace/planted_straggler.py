#!/usr/bin/env python3
"""Traces of two ranks, as PyTorch's profiler writes them, of which the second is late in every step: it waits for its data.

  planted_straggler.py FOLDER               writes rank0.json and rank1.json there
  planted_straggler.py --check PROGRAM      whether `trace summary` names the rank, its lateness and the cause

A step is a forward and a backward pass of ten kernels and an all_reduce of 32 MiB, which ends on both ranks 200 us after the
later one began it. Rank 1 waits 400 us for each batch, rank 0 for none: nothing else differs.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

STEPS, KERNELS, KERNEL_US, LAUNCH_US, LATE_US, TRANSFER_US = 10, 10, 90.0, 10.0, 400.0, 200.0
BYTES = 32 << 20


class Rank:
    def __init__(self, rank):
        self.rank, self.events, self.correlation = rank, [], 0

    def add(self, category, name, begin, duration, tid, **arguments):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": 0 if category == "kernel" else 100, "tid": tid,
                            "ts": begin, "dur": duration, "args": arguments})

    def launch(self, name, host, start, duration, stream=7, **arguments):
        self.correlation += 1
        self.add("cuda_runtime", "cudaLaunchKernel", host, 4.0, 1, correlation=self.correlation)
        self.add("kernel", name, start, duration, stream, device=self.rank, stream=stream, correlation=self.correlation,
                 grid=[132, 1, 1], block=[128, 1, 1], **arguments)

    def document(self):
        return {"schemaVersion": 1, "baseTimeNanoseconds": 1_700_000_000_000_000_000, "host_name": "one-host",
                "distributedInfo": {"backend": "nccl", "rank": self.rank, "world_size": 2},
                "deviceProperties": [{"id": self.rank, "name": "NVIDIA H200"}], "traceEvents": self.events}


def traces():
    ranks, at = [Rank(0), Rank(1)], 0.0
    for step in range(STEPS):
        ready = []
        for rank in ranks:
            host = at + 5
            wait = LATE_US if rank.rank == 1 else 5.0
            rank.add("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", host, wait, 1)
            host += wait
            gpu = host + 8
            for i in range(KERNELS):
                rank.add("cpu_op", "aten::mm", host, LAUNCH_US - 1, 1)
                rank.launch(f"gemm_{i % 2}", host + 2, max(gpu, host + 8), KERNEL_US)
                gpu = max(gpu, host + 8) + KERNEL_US
                host += LAUNCH_US
            ready.append((host, gpu))
        end = max(gpu for _, gpu in ready) + TRANSFER_US
        for rank, (host, gpu) in zip(ranks, ready):
            rank.add("cpu_op", "c10d::allreduce_", host, 9.0, 1)
            rank.launch("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", host + 2, gpu, end - gpu, 20,
                        **{"Collective name": "allreduce", "In msg nelems": BYTES // 2, "Out msg nelems": BYTES // 2,
                           "Group size": 2, "dtype": "BFloat16", "Process Group Name": "dp", "Seq": step})
            rank.add("cuda_runtime", "cudaDeviceSynchronize", host + 12, end + 3 - host - 12, 1)
            rank.add("user_annotation", f"ProfilerStep#{step}", at, end + 4 - at, 1)
        at = end + 5
    return ranks


def write(folder):
    paths = []
    for rank in traces():
        paths.append(pathlib.Path(folder, f"rank{rank.rank}.json"))
        paths[-1].write_text(json.dumps(rank.document()), encoding="utf-8")
    return paths


def document(command, *codes):
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode not in codes:
        sys.exit(f"{command}: exit {run.returncode}: {run.stderr}")
    return json.loads(run.stdout)


def check(program):
    with tempfile.TemporaryDirectory() as folder:
        files = [str(path) for path in write(folder)]
        summary = document([program, "trace", "summary", "--json", *files], 0)
        doctor = document([program, "doctor", "--json", *files], 1)
    late = STEPS * (LATE_US - 5.0) * 1e3
    first = summary["collectives"]["ranks"][0]
    if first["rank"] != 1 or first["last"] != STEPS or first["late_ns"] != late:
        sys.exit(f"rank 1 is {late:.0f} ns late in {STEPS} collectives, but the first row is {first}")
    gains = {one["what"]: one["gain_ns"] for one in summary["critical_path"]["what_if"]}
    loading = (STEPS - 1) * LATE_US * 1e3  # the first wait lies before all work of the GPUs
    if gains["data_loading"] != loading:
        sys.exit(f"without loading of data the trace would be {loading:.0f} ns shorter, not {gains['data_loading']}")
    advice = {finding["rule"]: finding["advice"] for finding in doctor["findings"]}
    if f"for rank 1, which came last in {STEPS} of {STEPS} collectives" not in advice.get("trace_exposed_comm", ""):
        sys.exit(f"doctor does not name the rank: {advice}")


if __name__ == "__main__":
    check(sys.argv[2]) if sys.argv[1] == "--check" else write(sys.argv[1])
