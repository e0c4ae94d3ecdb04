#!/usr/bin/env python3
"""What a trace says would be won if a kernel took no time, against the same program when that kernel does take none.

usage: what_if_on_device.py --nsatune PROGRAM --program what_if_program [--rounds 3] [--limit .05]

Kernels of what_if_program take the time that they are asked for, so the truth can be made. Each form of a step is recorded as it
is, and with each kernel in turn asked for no time; what was won between the two recordings is compared with `critical_path.what_if`
of the first. A kernel that another one hides wins nothing: there the error is a share of the step. Prints a line for each; exit 0
where the median of the rounds is within the limit for all.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

STEPS = 300  # with their launches, events and waits they fill a queue of launches
# Microseconds that kernels take and the host works; what is on the path differs from form to form.
CASES = [
    ("chain", {"first": 300, "second": 200, "third": 100}),
    ("join", {"first": 300, "second": 200, "third": 100}),
    ("join", {"first": 150, "second": 250, "third": 60}),
    ("late", {"first": 100, "second": 150, "third": 100, "host": 250}),
    ("late", {"first": 300, "second": 150, "third": 100, "host": 120}),
    ("waits", {"first": 200, "second": 150, "third": 50}),
]
KERNELS = ("first", "second", "third")


def recorded(options, form, times):
    """The critical path of a trace of the program."""
    flags = [word for name, us in times.items() for word in (f"--{name}", str(us))]
    with tempfile.TemporaryDirectory() as folder:
        record = [options.nsatune, "--json", "trace", "record", "--profiler-api", "-o", folder, "--", options.program, "--form", form,
                  "--steps", str(STEPS), *flags]
        # Eager: that a kernel is loaded at its first launch belongs to no step.
        done = subprocess.run(record, capture_output=True, text=True, timeout=120, env={**os.environ, "CUDA_MODULE_LOADING": "EAGER"})
        paths = [process["path"] for process in json.loads(done.stdout or '{"processes": []}')["processes"] if process["path"]]
        if done.returncode or len(paths) != 1:
            sys.exit(f"trace record: exit {done.returncode}: {done.stderr[-400:]}")
        summary = subprocess.run([options.nsatune, "--json", "trace", "summary", paths[0]], capture_output=True, text=True, timeout=120)
        if summary.returncode:
            sys.exit(f"trace summary: exit {summary.returncode}: {summary.stderr[-400:]}")
        return json.loads(summary.stdout)["critical_path"]


def predicted_us(path, kernel):
    """0 where the kernel is not among those asked about, which are the largest of the path."""
    gains = [one["gain_ns"] for one in path["what_if"] if one["what"] == "kernel" and re.search(rf"\b{kernel}\(", one["name"])]
    return gains[0] / STEPS / 1e3 if gains else 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nsatune", required=True)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=.05)
    options = parser.parse_args()
    good = True
    for form, times in CASES:
        told, won, steps = ({kernel: [] for kernel in KERNELS} for _ in range(3))
        for _ in range(options.rounds):
            path = recorded(options, form, times)
            for kernel in KERNELS:
                shorter = recorded(options, form, {**times, kernel: 0})
                told[kernel].append(predicted_us(path, kernel))
                won[kernel].append((path["length_ns"] - shorter["length_ns"]) / STEPS / 1e3)
                steps[kernel].append(path["length_ns"] / STEPS / 1e3)
        for kernel in KERNELS:
            guess, truth, step = (statistics.median(figures[kernel]) for figures in (told, won, steps))
            hidden = truth < options.limit * step
            error = abs(guess - truth) / (step if hidden else truth)
            good = good and error <= options.limit
            words = " ".join(f"{name} {us}" for name, us in times.items())
            print(f"{'ok    ' if error <= options.limit else 'FAILED'} {form}: {words}: without {kernel} {guess:.1f} us a step of "
                  f"{step:.1f} predicted, {truth:.1f} won: {100 * error:.1f} % of {'the step' if hidden else 'what was won'}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
