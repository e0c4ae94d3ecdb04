#!/usr/bin/env bash
# On a GPU: what doctor says of the training in examples/slow_training, and what each of its slips really costs, by mending it.
# Usage: scripts/results/slow_training.sh FOLDER
# Writes there: slow/ (the trace of 20 steps), record.txt, summary.txt, doctor.txt, lines.txt (summary and doctor of a second
# recording, with samples of Python's stack) and mends.txt (steps that nothing records: of the program as it is, with each slip mended,
# and with all of them mended, in turn, each time in a new process). NSATUNE names the program (default: ./nsatune), PYTHON a Python with
# PyTorch (default: python3), ROUNDS how many turns (default: 3), LIMIT_S the seconds after which no process is started (default: 135).
set -euo pipefail
out=${1:?usage: scripts/results/slow_training.sh FOLDER}
nsatune=${NSATUNE:-./nsatune}
python=${PYTHON:-python3}
program=$(dirname "$0")/../../examples/slow_training/train.py
most_bytes=$((14 << 20))
export COLUMNS=150
mkdir -p "$out"

record() {
  local folder=$1
  shift
  "$nsatune" trace record -o "$folder" --warmup 10 --steps 20 "$@" -- "$python" "$program"
}

# Exit 1: it found something.
doctor() {
  local code=0
  "$nsatune" doctor "$@" || code=$?
  ((code <= 1)) || { echo "doctor: exit $code"; return "$code"; }
}

record "$out/slow" >"$out/record.txt" 2>&1 || { cat "$out/record.txt"; exit 1; }
cat "$out/record.txt"
traces=("$out"/slow/*.json.gz)
"$nsatune" trace summary "${traces[@]}" >"$out/summary.txt"
doctor "${traces[@]}" >"$out/doctor.txt"
bytes=$(cat "${traces[@]}" | wc -c)
echo "the trace has $bytes bytes, the recording took $SECONDS s"
((bytes < most_bytes)) || echo "that is more than $most_bytes: record fewer steps"

record "$out/lines" --python-stacks 10ms >"$out/lines.txt" 2>&1 || { cat "$out/lines.txt"; exit 1; }
"$nsatune" trace summary "$out"/lines/*.json.gz >>"$out/lines.txt"
doctor "$out"/lines/*.json.gz >>"$out/lines.txt"
rm -r "$out/lines"
echo "two recordings took $SECONDS s"

# Each process is forked from one that has imported PyTorch and never used CUDA: importing it takes longer than the steps.
gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader || echo "no GPU that nvidia-smi knows")
"$python" -u -W ignore - "$program" "$gpu" "${ROUNDS:-3}" $((${LIMIT_S:-135} - SECONDS)) <<'PYTHON' 2>&1 | tee "$out/mends.txt"
import datetime
import os
import re
import runpy
import signal
import sys
import time
from statistics import median

started = time.monotonic()
import torch
import torch._dynamo  # as the first step of an optimizer does

program, gpu, rounds, limit_s = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
NONE, ALL = "none", "all"
mends = [NONE, "loader", "copies", "mask", "waits", "optimizer", "cache", ALL]
print(f"{datetime.date.today()}, {gpu}, PyTorch {torch.__version__}, {os.cpu_count()} cores")


def run(mend):
    """The median and the mean of a step in milliseconds; nothing where the program failed."""
    reads, writes = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.dup2(writes, 1)
        os.close(reads)
        os.close(writes)
        signal.alarm(60)  # whatever it hangs in
        sys.argv = [program, "--steps", "16"] + ([] if mend == NONE else ["--mend", mend])
        runpy.run_path(program, run_name="__main__")
        sys.exit(0)
    os.close(writes)
    with os.fdopen(reads) as output:
        text = output.read()
    os.waitpid(child, 0)
    found = re.search(r"median ([\d.]+) ms, mean ([\d.]+) ms", text)
    print(f"{mend:9}  {text.strip() or 'failed'}   ({time.monotonic() - started:.0f} s)")
    return (float(found[1]), float(found[2])) if found else None


results = {mend: [] for mend in mends}  # of each round
for number in range(1, rounds + 1):
    print(f"round {number}")
    for mend in mends:
        if time.monotonic() - started > limit_s:
            break
        results[mend].append(run(mend))

print("\nA step in ms: the median of each round, and the median of these; by how much it is shorter than with nothing mended in the same\n"
      "round: the median of the rounds, the least, the most, as a share, and the same for the means of the steps")
columns = [f"round {i + 1}" for i in range(rounds)] + ["median", "shorter by", "least", "most", "share", "of means"]
print("mended     " + "".join(f"{column:>12}" for column in columns))
for mend in mends:
    pairs = [(one, none) for one, none in zip(results[mend], results[NONE]) if one and none]
    if not pairs:
        print(f"{mend:11}no result")
        continue
    medians = [one[0] for one, _ in pairs]
    shorter = [none[0] - one[0] for one, none in pairs]
    share = median(1 - one[0] / none[0] for one, none in pairs)
    cells = [f"{value:.2f}" for value in medians] + [""] * (rounds - len(pairs))
    cells += [f"{value:.2f}" for value in (median(medians), median(shorter), min(shorter), max(shorter))]
    cells += [f"{share:.1%}", f"{median(none[1] - one[1] for one, none in pairs):.2f}"]
    print(f"{mend:11}" + "".join(f"{cell:>12}" for cell in cells))
PYTHON
echo "$SECONDS s in all"
