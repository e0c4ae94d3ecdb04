#!/usr/bin/env python3
"""Processor time and memory of reading large traces. Run it where nothing else runs.

  trace_figures.py PROGRAM [--megabytes N]    JSON of N MB (default 500; 2000 for the large one),
                                              and an export of Nsight Systems with a million kernels
  trace_figures.py PROGRAM --repeat TRACE [--megabytes N] [--keep FILE]
                                              a trace of PyTorch's, repeated up to N MB: `trace summary`
                                              and `doctor`

Makes the files itself. Exit 1 when a figure is not reached: 300 MB/s of raw JSON, memory of 1.5
times the raw size, of a quarter of it for a trace that is repeated, 5 s for the export.
"""
import argparse
import gzip
import json
import os
import pathlib
import re
import sqlite3
import sys
import tempfile
import time


def event(category, name, ts, dur, pid, tid, args):
    return json.dumps({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid,
                       "ts": round(ts, 3), "dur": dur, "args": args})


def launch(i):
    """What PyTorch writes for one launch: two operators, the call, the kernel, the arrow."""
    at = i * 12.345
    shapes = {"External id": i, "Input Dims": [[1, 2048, 768], [768, 768], []],
              "Input type": ["c10::BFloat16", "c10::BFloat16", "Scalar"], "Sequence number": i}
    kernel = ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add"
              f"<c10::BFloat16>, std::array<char*, 3ul> >(int, {i % 97})")
    return ",\n".join([
        event("cpu_op", "aten::linear", at, 9.5, 7, 7, shapes),
        event("cpu_op", "aten::addmm", at + 1, 7.25, 7, 7, shapes),
        event("cuda_runtime", "cudaLaunchKernel", at + 2, 3.75, 7, 7,
              {"External id": i, "cbid": 211, "correlation": i + 1}),
        event("kernel", kernel, at + 9, 4.5, 0, 7,
              {"External id": i, "queued": 0, "device": 0, "context": 1, "stream": 7,
               "correlation": i + 1, "registers per thread": 32, "shared memory": 0,
               "blocks per SM": 11.63, "warps per SM": 46.54, "grid": [1536, 1, 1],
               "block": [128, 1, 1], "est. achieved occupancy %": 73}),
        json.dumps({"ph": "s", "id": i, "pid": 7, "tid": 7, "ts": at + 2, "cat": "ac2g",
                    "name": "ac2g"})])


def make_json(path, megabytes):
    with open(path, "w", encoding="utf-8") as out:
        out.write('{"schemaVersion": 1, "traceEvents": [\n')
        i = 0
        while out.tell() < megabytes * 1_000_000:
            out.write((",\n" if i else "") + ",\n".join(launch(i + k) for k in range(200)))
            i += 200
        out.write("\n]}")


def make_repeated(path, source, megabytes):
    """The events of a trace again and again, each time later and with ids of their own; all else as it stands there."""
    packed = source.read_bytes()
    text = (gzip.decompress(packed) if packed[:2] == b"\x1f\x8b" else packed).decode()
    begin = re.search(r'"traceEvents":\s*\[', text).end()  # past the bracket
    end = json.JSONDecoder().raw_decode(text, begin - 1)[1] - 1  # at the bracket that closes it
    # Texts, and between them the numbers that change.
    parts = re.split(r'("(?:ts|correlation|External id|id|Sequence number|wait_on_cuda_event_record_corr_id)": )'
                     r"(\d+(?:\.\d{3})?)(?=[,\s}])", text[begin:end])
    times = [int(n.replace(".", "")) for n in parts[2::3] if "." in n]
    ids = [int(n) for n in parts[2::3] if "." not in n]
    span, most = max(times) - min(times) + 1_000_000, max(ids) + 1
    with open(path, "w", encoding="utf-8") as out:
        out.write(text[:begin])
        copy = 0
        while out.tell() < megabytes * 1_000_000:
            for i in range(2, len(parts), 3):
                number = parts[i]
                if "." in number:
                    ns = str(int(number.replace(".", "")) + (span if copy else 0))
                    parts[i] = f"{ns[:-3]}.{ns[-3:]}"
                elif copy:
                    parts[i] = str(int(number) + most)
            out.write(("," if copy else "") + "".join(parts))
            copy += 1
        out.write(text[end:])


def make_export(path, kernels):
    db = sqlite3.connect(path)
    db.executescript("""
      CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
      CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId,
        correlationId, globalPid, demangledName, registersPerThread, gridX, gridY, gridZ, blockX,
        blockY, blockZ, staticSharedMemory, dynamicSharedMemory, graphNodeId);
      CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId);
      INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000');""")
    db.executemany("INSERT INTO StringIds VALUES (?, ?)",
                   ((i + 2, f"void kernel<{i}>(float*)") for i in range(50)))
    db.executemany(
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?,?,0,1,7,?,16777216,?,32,8,1,1,128,1,1,0,"
        "0,NULL)", ((i * 3000 + 900, i * 3000 + 2900, i + 1, i % 50 + 2) for i in range(kernels)))
    db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?,?,16777316,?,1)",
                   ((i * 3000, i * 3000 + 800, i + 1) for i in range(kernels)))
    db.commit()
    db.close()


def run(program, path, command=("trace", "summary")):
    """Processor seconds, peak bytes and seconds on the wall of a command."""
    start = time.monotonic()
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.execv(program, [program, *command, str(path), "--json"])
    _, status, usage = os.wait4(pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):  # 1: doctor found something
        sys.exit(f"{path}: the program ended with status {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, time.monotonic() - start


def measure_repeated(program, source, megabytes, keep):
    good = True
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(keep or pathlib.Path(folder, "trace.json"))
        if not path.exists():
            make_repeated(path, source, megabytes)
        size = path.stat().st_size
        for command in (("trace", "summary"), ("doctor",)):
            runs = [run(program, path, command) for _ in range(3)]
            best, peak = min(runs)[0], max(peak for _, peak, _ in runs)
            print(f"{' '.join(command)} of {size / 1e6:.0f} MB: {best:.2f} s of processor time, {min(wall for *_, wall in runs):.2f} s on "
                  f"the wall, {size / best / 1e6:.0f} MB/s, peak {peak / 1e6:.0f} MB, {peak / size:.2f} times its size", flush=True)
            good &= size / best >= 300e6 and peak <= size / 4
    return 0 if good else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--repeat", type=pathlib.Path)
    parser.add_argument("--keep")
    options = parser.parse_args()
    if options.repeat:
        return measure_repeated(options.program, options.repeat, options.megabytes, options.keep)
    good = True
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "trace.json")
        make_json(path, options.megabytes)
        size = path.stat().st_size
        best, peak, _ = min(run(options.program, path) for _ in range(3))
        print(f"JSON of {size / 1e6:.0f} MB, read and summarised: {best:.2f} s, "
              f"{size / best / 1e6:.0f} MB/s, peak {peak / size:.2f} times its size")
        good &= size / best >= 300e6 and peak <= 1.5 * size
        path.unlink()
        path = pathlib.Path(folder, "export.sqlite")
        make_export(path, 1_000_000)
        best, peak, _ = min(run(options.program, path) for _ in range(3))
        print(f"Nsight Systems export of a million kernels: {best:.2f} s, peak {peak / 1e6:.0f} MB")
        good &= best <= 5
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
