#!/usr/bin/env python3
"""The tables that users of NSA know, measured again: forward matrix, selection paths, ablations.

usage: users_tables.py [--nsatune ./nsatune] [--device cuda:0] [--dtype bf16] [--preset 125m]
                      [--thresholds FILE] [--rounds 2] [--steps 10] [--seq-lens 128,512,1024,2048] [-o FILE.md]

Each cell is `nsatune run` in a process of its own, in --rounds rounds, every second one in reverse order (A B B A), so that
a machine that gets slower over time does not decide. A token is a new token of the forward pass: batch x sequence length.
The forced paths are chosen by the users' own NSA_* names, which stand in the tables. Ctrl-C or SIGTERM ends the measuring:
what there is by then is written to FILE.md.partial, and the exit code is 130.
"""
import argparse
import datetime
import json
import os
import signal
import statistics
import subprocess
import sys

# (label, environment, arguments of `run`)
CONVERTERS = [
    ("adaptive", {"NSA_USE_SEL_VARLEN": "1"}, []),
    ("v1", {"NSA_USE_SEL_VARLEN": "1", "NSA_SEL_RANGES_V2": "0"}, []),
    ("v2", {"NSA_USE_SEL_VARLEN": "1", "NSA_SEL_RANGES_V2": "1"}, []),
]
SELECTION = [
    ("tuned", {}, []),
    ("masked", {"NSA_FORCE_SEL_MASK": "1"}, []),
    ("packed", {"NSA_USE_SEL_PACK": "1"}, []),
    ("varlen_v2", {"NSA_USE_SEL_VARLEN": "1", "NSA_SEL_VARLEN_V2": "1"}, []),
    ("ranges", {"NSA_USE_SEL_PACK": "0"}, []),
]
ABLATIONS = [
    ("all branches", {}, []),
    ("compressed only", {}, ["--branches", "cmp"]),
    ("selected only", {}, ["--branches", "sel"]),
    ("window only", {}, ["--branches", "win"]),
    ("6 layers", {}, ["--layers", "6"]),
    ("1 layer", {}, ["--layers", "1"]),
    ("dense attention", {}, ["--attention", "dense"]),
    ("sequential prefill", {"NSA_PREFILL_BATCHED": "0"}, []),
]
# One step of these takes seconds at 2048 tokens: no warm-up beyond the first call, one step a round.
SLOW = {"v1", "ranges", "sequential prefill"}


def run(options, seq_len, label, environment, arguments):
    """One `nsatune run`: its JSON document, or the line that it ended with."""
    slow = label in SLOW
    command = [options.nsatune, "run", "--no-db", "--json", "--device", options.device, "--dtype", options.dtype]
    command += ["--preset", options.preset, "--seq-len", str(seq_len), *arguments]
    command += ["--warmup", "1" if slow else "3", "--steps", "1" if slow else str(options.steps)]
    if options.thresholds:
        command += ["--thresholds", options.thresholds]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("NSA_")}
    try:
        done = subprocess.run(command, env=inherited | environment, capture_output=True, text=True,
                              timeout=options.timeout)
    except subprocess.TimeoutExpired:
        return f"over {options.timeout:g} s"
    except OSError as error:
        sys.exit(f"users_tables: {options.nsatune}: {error.strerror}")
    if done.returncode != 0:
        return (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
    return json.loads(done.stdout)


def measure(options, cells):
    """cell -> list of documents (or the line of a failure), all cells of a table in turn."""
    documents = {cell_key(cell): [] for cell in cells}
    if options.stopped:
        return documents
    try:
        for round_number in range(options.rounds):
            for cell in cells if round_number % 2 == 0 else cells[::-1]:
                seen = documents[cell_key(cell)]
                if seen and isinstance(seen[-1], str):
                    continue  # it failed once: that is its result
                print(f"users_tables: S {cell[0]} {cell[1]}", file=sys.stderr)
                seen.append(run(options, *cell))
    except KeyboardInterrupt:
        options.stopped = True
    return documents


def cell_key(cell):
    return cell[0], cell[1]


def ran(document, stages):
    """The variants that ran for these stages, most calls first."""
    return ", ".join(f"{entry['stage']} `{entry['variant']}`" for entry in document["engaged"] if entry["stage"] in stages)


def table(options, title, sentence, rows, seq_lens, stages, base):
    """A Markdown table: one line per sequence length and row, ratios against the row `base`."""
    cells = [(seq_len, *row) for seq_len in seq_lens for row in rows]
    documents = measure(options, cells)
    lines = [f"## {title}", "", sentence, "",
             f"| S | | environment or options | ms | tok/s | against {base} | ran |",
             "|---|---|---|---|---|---|---|"]
    for seq_len, label, environment, arguments in cells:
        found = documents[seq_len, label]
        setting = " ".join([f"`{name}={value}`" for name, value in environment.items()]
                           + ([f"`{' '.join(arguments)}`"] if arguments else []))
        if failure(found):
            lines.append(f"| {seq_len} | {label} | {setting} | - | - | - | {failure(found)} |")
            continue
        step_ns = median_step(found)
        reference = documents[seq_len, base]
        ratio = "-" if failure(reference) else f"{median_step(reference) / step_ns:.3g}x"
        rate = found[0]["tokens_per_step"] / (step_ns * 1e-9)
        lines.append(f"| {seq_len} | {label} | {setting} | {step_ns * 1e-6:.4g} | {rate:,.0f} | {ratio} "
                     f"| {ran(found[0], stages)} |")
    return "\n".join(lines) + "\n"


def failure(documents):
    """Why a cell has no times, or None."""
    if not documents:
        return "not measured: stopped before"
    return documents[-1] if isinstance(documents[-1], str) else None


def median_step(documents):
    return statistics.median(ns for document in documents for ns in document["step_ns"])


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nsatune", default="./nsatune")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--dtype", default="bf16")
    parser.add_argument("--preset", default="125m")
    parser.add_argument("--thresholds")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--timeout", type=float, default=60, help="seconds for one run")
    parser.add_argument("--seq-lens", default="128,512,1024,2048")
    parser.add_argument("-o", "--output")
    return parser.parse_args()


def main():
    options = parse_options()
    options.stopped = False
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    seq_lens = [int(word) for word in options.seq_lens.split(",")]
    first = run(options, seq_lens[0], "tuned", {}, [])
    if isinstance(first, str):
        sys.exit(f"users_tables: {first}")
    device = first["device"]
    driver = f", driver {device['driver']}" if device.get("driver") else ""
    parts = [
        f"# Forward passes of `{options.preset}` on {device['name']}\n",
        f"{datetime.date.today()}, {device['name']}{driver}, {options.dtype}, batch 1, eager, warm, medians of {options.rounds} "
        f"processes each ({options.steps} steps a process, 1 where a step takes seconds). A token is "
        f"{first['token_definition']}. Made by `scripts/results/users_tables.py {' '.join(sys.argv[1:])}`.\n",
        table(options, "Range converters", "Selected attention by `varlen`, which needs ranges; `adaptive` is the tuned choice.",
              CONVERTERS, seq_lens, ["ranges", "attend_selected"], "v1"),
        table(options, "Paths of the selected branch", "`ranges` is one launch per query and KV head, the slow path.",
              SELECTION, seq_lens[1::2], ["attend_selected"], "ranges"),
        table(options, "Ablations", "What each branch, the depth and the kind of attention cost.",
              ABLATIONS, seq_lens[1::2], ["attend_compressed", "attend_selected", "attend_window", "attention"],
              "all branches"),
    ]
    if options.stopped:
        parts.insert(2, "Stopped before its end: cells have fewer processes than that, or none.\n")
    text = "\n".join(parts)
    if options.output:
        path = options.output + ".partial" if options.stopped else options.output
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        print(text, end="")
    if options.stopped:
        sys.exit(130)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
