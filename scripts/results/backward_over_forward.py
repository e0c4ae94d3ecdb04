#!/usr/bin/env python3
"""Times of the backward pass beside those of the forward pass, for each part of a training step.

usage: backward_over_forward.py RUN.json [...]

RUN.json is what `nsatune run --train --json` printed. Both passes of a part are from the same steps, so that a
machine that gets slower takes no side. Of several documents, medians; the ratio is that of each document by itself.
Parts of one pass alone (scores; the head, whose loss is made with its gradients) are left out, and what checkpointing
computes again is no forward pass.
"""
import json
import statistics
import sys


def passes(path):
    """part -> (forward, backward) in ns a step, of one document."""
    try:
        with open(path, encoding="utf-8") as file:
            times = json.load(file)["training"]["times"]
        of_phase = {"forward": {}, "backward": {}}
        for part in times:
            if part["phase"] in of_phase:
                of_phase[part["phase"]][part["part"]] = part["ns"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.exit(f"backward_over_forward: {path}: {error!r}")
    forward, backward = of_phase["forward"], of_phase["backward"]
    both = {part: (forward[part], backward[part]) for part in forward if forward[part] > 0 and part in backward}
    if not both:
        sys.exit(f"backward_over_forward: {path}: no part has times of both passes; run --train with two steps or more")
    return both


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    runs = [passes(path) for path in sys.argv[1:]]
    parts = [part for part in runs[0] if all(part in run for run in runs)]
    print("| part | forward, ms | backward, ms | ratio |")
    print("|---|---|---|---|")
    rows = []
    for part in parts:
        forward = statistics.median(run[part][0] for run in runs)
        backward = statistics.median(run[part][1] for run in runs)
        ratio = statistics.median(run[part][1] / run[part][0] for run in runs)
        rows.append((ratio, f"| `{part}` | {forward / 1e6:.1f} | {backward / 1e6:.1f} | {ratio:.2f} |"))
    for _, row in sorted(rows, reverse=True):
        print(row)


if __name__ == "__main__":
    main()
