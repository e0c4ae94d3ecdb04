#!/usr/bin/env python3
"""`trace record` end to end on a machine with a GPU: what was launched is in the trace, viewers can read it, the stages of
the runtime are found again, and what recording costs.

usage: trace_on_device.py --nsatune PROGRAM --traced-program PROGRAM [-o FOLDER] [--only NAME ...]

Each check prints one line; FOLDER (default: trace_on_device) keeps the traces and report.json. traced_torch.py is left out
with a reason where there is no PyTorch. Exit 0: every check held, 1: some did not.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
VALIDATOR = HERE.parent / "trace" / "validate_chrome.py"
SHARE = 0.95  # of the GPU time of the model's own traces belongs to a stage


class Report:
    def __init__(self, options):
        self.options, self.rows = options, []

    def line(self, good, what, **figures):
        words = "  ".join(f"{key} {value}" for key, value in figures.items())
        print(f"{'ok    ' if good else 'FAILED'} {what}: {words}", flush=True)
        self.rows.append({"good": good, "what": what, **figures})

    def run(self, *command, **keywords):
        return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300, **keywords)

    def record(self, name, command, *flags):
        """The document of `trace record`, and the last line of the program that is JSON."""
        folder = self.options.output / name
        done = self.run(self.options.nsatune, "--json", "trace", "record", *flags, "-o", folder, "--", *command)
        if not done.stdout.strip():
            self.line(False, name, stderr=done.stderr[-600:])
            return None, None
        # The program's own output goes to stderr, so that stdout is one document.
        own = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
        return json.loads(done.stdout), own[-1] if own else None

    def traces(self, document):
        return [process["path"] for process in document["processes"] if process["path"]]

    def summary(self, path):
        done = self.run(self.options.nsatune, "--json", "trace", "summary", path)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def obeys_viewers(self, name, paths):
        done = self.run(sys.executable, VALIDATOR, "--file", *paths)
        self.line(done.returncode == 0, f"{name}: a viewer reads it", files=len(paths),
                  said=(done.stdout + done.stderr).strip()[-300:])

    def all_there(self, name, document):
        for process in document["processes"]:
            self.line(process["all_there"] is True, f"{name}: launches = recorded + dropped + outside",
                      pid=process["pid"], launches=process["launches"], recorded=process["recorded"],
                      dropped=process["dropped"], outside=process["outside"], complete=process["complete"])


def plain(report):
    program = report.options.traced_program
    for name, threads, ending, code in [("plain", 1, "return", 0), ("threads", 8, "exit", 5), ("left", 1, "_exit", 7),
                                        ("killed", 1, "kill", 137)]:
        document, own = report.record(name, [program, "--threads", threads, "--end", ending])
        if document is None:
            continue
        report.line(document["exit_code"] == code, f"{name}: exit code", code=document["exit_code"], expected=code)
        paths = report.traces(document)
        summary = report.summary(paths[0])
        report.line(summary["kernels"] == own["kernels"] and summary["memops"] == own["copies"] + own["sets"],
                    f"{name}: operations", kernels=summary["kernels"], memops=summary["memops"],
                    expected=own["kernels"] + own["copies"] + own["sets"], steps=len(summary["steps"]))
        if ending in ("return", "exit"):
            report.all_there(name, document)
        report.obeys_viewers(name, paths)


def torch(report):
    if report.run(sys.executable, "-c", "import torch; torch.ones(1, device='cuda')").returncode != 0:
        print("left out: no PyTorch with CUDA here")
        return
    script = [sys.executable, HERE / "traced_torch.py", "--steps", 30, "--loop", 0]
    document, own = report.record("torch", script)
    if document is not None:
        report.all_there("torch", document)
        paths = report.traces(document)
        summary = report.summary(paths[0])
        stages = {stage["stage"]: stage["total_ns"] for stage in summary["stages"]}
        report.line(len(summary["steps"]) == 30 and "attend_selected" in stages, "torch: steps and stages",
                    steps=len(summary["steps"]), stages=sorted(stages), kernels=summary["kernels"])
        report.obeys_viewers("torch", paths)
    # What recording adds to an eager launch: in one process, every second loop is recorded.
    script = [sys.executable, HERE / "traced_torch.py", "--steps", 1, "--loop", 20000, "--repeats", 14, "--on-off"]
    document, own = report.record("torch_on_off", script, "--profiler-api")
    if own:
        added = own["us_recorded"] - own["us_not_recorded"]
        report.line(added <= 1.6, "torch: added per eager launch", us=round(added, 3), on=own["us_recorded"],
                    off=own["us_not_recorded"])


def model(report):
    nsatune = report.options.nsatune
    base = [nsatune, "run", "--no-db", "--preset", "125m", "--seq-len", 2048, "--device", "cuda:0", "--warmup", 3, "--steps", 5]
    for name, flags in [("model_eager", []), ("model_graph", ["--graph"])]:
        document, _ = report.record(name, [*base, *flags], "--steps", 5)
        if document is None:
            continue
        report.all_there(name, document)
        paths = report.traces(document)
        summary = report.summary(paths[0])
        share = 1 - summary["unattributed_ns"] / summary["op_sum_ns"]
        named = sum(stage["total_ns"] for stage in summary["stages"])
        report.line(share >= SHARE, f"{name}: share of the GPU time with a stage", share=round(share, 4),
                    adds_up=named + summary["unattributed_ns"] == summary["op_sum_ns"], kernels=summary["kernels"],
                    stages={stage["stage"]: round(stage["total_ns"] / 1e6, 2) for stage in summary["stages"]})
        report.obeys_viewers(name, paths)


def cost(report):
    """A step that the GPU bounds, recorded and not, in turn."""
    nsatune = report.options.nsatune
    command = [nsatune, "run", "--no-db", "--preset", "125m", "--seq-len", 8192, "--device", "cuda:0", "--warmup", 5, "--steps", 30,
               "--json"]
    times = {"off": [], "on": []}
    for number in range(4):
        for kind in ("off", "on") if number % 2 == 0 else ("on", "off"):
            extra = []
            if kind == "on":
                extra = [nsatune, "trace", "record", "-o", report.options.output / f"cost{number}", "--"]
            done = report.run(*extra, *command)
            try:
                document = json.loads(done.stdout[done.stdout.index("{"):])
                times[kind].append(document["median_step_ns"] / 1e6)
            except (ValueError, KeyError) as error:
                report.line(False, "cost of recording", error=str(error), stderr=done.stderr[-300:])
                return
    off, on = statistics.median(times["off"]), statistics.median(times["on"])
    report.line(on / off <= 1.02, "cost of recording a step that the GPU bounds", ratio=round(on / off, 4),
                off_ms=times["off"], on_ms=times["on"])


def hang(report):
    began = time.monotonic()
    document, _ = report.record("hang", [report.options.traced_program, "--end", "hang"], "--hang-after", "3s",
                                "--end-on-hang")
    if document is None:
        return
    notes = [note["text"] for process in document["processes"] for note in process["notes"] if "hang" in note["what"]]
    text = "\n".join(notes)
    report.line(document["exit_code"] == 124 and "endless_kernel" in text and "a range that never ends" in text and
                "Synchronize" in text,
                "hang: kernel, range and host stack are named", seconds=round(time.monotonic() - began, 1),
                code=document["exit_code"], note=text[:1500])


def held(report):
    """Another tool holds CUPTI: its name, and the ranges by events."""
    document, own = report.record("held", [report.options.traced_program, "--hold-cupti", "--blocking"], "--skip", 5,
                                  "--steps", 10)
    if document is None:
        return
    notes = [note["text"] for process in document["processes"] for note in process["notes"]]
    paths = report.traces(document)
    summary = report.summary(paths[0])
    ranges = {row["name"]: row for row in summary["gpu_ranges_by_name"]}
    # 500 kernels in a row, a memset and a copy take 1 to 10 ms on any GPU, and a step is little but its work.
    work, step = ranges["work"], ranges["step N"]
    report.line(document["exit_code"] == 0 and any("another profiler" in note for note in notes) and
                work["count"] == step["count"] == len(summary["steps"]) == 10 and
                0.5e6 < work["median_ns"] <= step["median_ns"] < 20e6 and summary["kernels"] is None,
                "held: the holder is named, ranges have GPU times", work_us=work["median_ns"] / 1e3,
                step_us=step["median_ns"] / 1e3, host_us=summary["steps"][5]["duration_ns"] / 1e3, notes=notes)
    report.obeys_viewers("held", paths)


def gpus(report):
    done = report.run("nvidia-smi", "--query-gpu=name", "--format=csv,noheader")
    return len(done.stdout.splitlines()) if done.returncode == 0 else 0


def devices(report):
    """Several GPUs in one process, and one a rank."""
    count = gpus(report)
    if count < 2:
        print(f"left out: {count} GPU here, two are needed")
        return
    document, own = report.record("devices", [report.options.traced_program, "--threads", 4, "--devices", 2])
    if document is not None:
        report.all_there("devices", document)
        summary = report.summary(report.traces(document)[0])
        kernels = [device["kernels"] for device in summary["devices"]]
        report.line(len(kernels) == 2 and sum(kernels) == own["kernels"] and min(kernels) > 0.4 * own["kernels"],
                    "devices: kernels of each", kernels=kernels, expected=own["kernels"],
                    names=[device["name"] for device in summary["devices"]])
        report.obeys_viewers("devices", report.traces(document))
    document, own = report.record("ranks", ["torchrun", "--standalone", "--nproc-per-node", count,
                                            HERE / "traced_ranks.py"])
    if document is None or own is None:
        report.line(False, "ranks", own=own)
        return
    report.all_there("ranks", document)
    # torchrun itself asks CUDA what is there, and is a process without a rank.
    ranks = sorted(process["rank"] for process in document["processes"] if process["rank"] is not None)
    report.line(ranks == list(range(count)) and document["merged"] is not None and document["exit_code"] == 0,
                "ranks: a trace each and a merged view", ranks=ranks, merged=document["merged"])
    whole = report.summary(report.options.output / "ranks")
    for rank in whole["ranks"]:
        if rank["rank"] is None:
            continue
        # Two sums a step, and the first one; the communicator may be tried out by more.
        report.line(rank["comm_kernels"] >= 2 * own["steps"] + 1 and len(rank["steps"]) == own["steps"] and
                    0 < rank["exposed_comm_ns"] < rank["comm_ns"] and rank["comm_overlapped_by_compute_ns"] > 0,
                    f"ranks: communication of rank {rank['rank']}", comm_kernels=rank["comm_kernels"],
                    comm_ms=rank["comm_ns"] / 1e6, exposed_ms=rank["exposed_comm_ns"] / 1e6,
                    overlapped_ms=rank["comm_overlapped_by_compute_ns"] / 1e6, busy_ms=rank["busy_ns"] / 1e6)
    report.line(whole["clocks"]["alignment"] == "one_clock" and len(whole["devices"]) == count and
                whole["kernels"] == sum(rank["kernels"] or 0 for rank in whole["ranks"]),
                "ranks: the merged figures are of all", devices=len(whole["devices"]), kernels=whole["kernels"])
    report.obeys_viewers("ranks", [*report.traces(document), document["merged"]])


CHECKS = {"plain": plain, "torch": torch, "model": model, "cost": cost, "hang": hang, "held": held,
          "devices": devices}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nsatune", type=pathlib.Path, required=True)
    parser.add_argument("--traced-program", type=pathlib.Path, required=True)
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("trace_on_device"))
    parser.add_argument("--only", choices=CHECKS, nargs="+", default=list(CHECKS))
    options = parser.parse_args()
    options.nsatune, options.traced_program = options.nsatune.resolve(), options.traced_program.resolve()
    options.output.mkdir(parents=True, exist_ok=True)
    report = Report(options)
    for name in options.only:
        try:
            CHECKS[name](report)
        except (subprocess.TimeoutExpired, KeyError, IndexError, TypeError, ValueError) as error:
            report.line(False, name, error=repr(error))
    (options.output / "report.json").write_text(json.dumps(report.rows, indent=1) + "\n")
    return 0 if all(row["good"] for row in report.rows) else 1


if __name__ == "__main__":
    sys.exit(main())
