#!/usr/bin/env python3
"""What `trace record` costs an eager PyTorch loop, in wall time: the same program with and without it, in turn.

usage: trace_cost.py --nsatune PROGRAM [--rounds 3] [--flags "--without memory"] [--train]

The loop is 5,000 times `x.add_(1.0)` on 64 x 64 numbers and a synchronisation, seven times, each in a fresh process; its figure
is the median of the seven, in microseconds a launch. --train: a step of a small eager transformer instead, recorded without
and with the hook in Python (--no-python). Each pair prints a line. Exit 0: the median added cost is within --limit.
"""
import argparse
import json
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

LAUNCHES, LOOPS, STEPS, WARMUP = 5000, 7, 40, 10


def loop():
    import torch
    x = torch.ones(64, 64, device="cuda")
    times = []
    for _ in range(LOOPS + 1):  # the first one warms up
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(LAUNCHES):
            x.add_(1.0)
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) / LAUNCHES * 1e6)
    return statistics.median(times[1:])


def train():
    """Milliseconds a step of 12 blocks, which the host bounds."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.norm, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x):
            batch, length, width = x.shape
            heads = [y.view(batch, length, 8, width // 8).transpose(1, 2) for y in self.qkv(self.norm(x)).chunk(3, -1)]
            mixed = nn.functional.scaled_dot_product_attention(*heads, is_causal=True)
            x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
            return x + self.mlp(x)

    class Model(nn.Module):
        def __init__(self, blocks, width, words):
            super().__init__()
            self.embedding, self.blocks = nn.Embedding(words, width), nn.ModuleList(Block(width) for _ in range(blocks))
            self.head = nn.Linear(width, words)

        def forward(self, ids):
            x = self.embedding(ids)
            for block in self.blocks:
                x = block(x)
            return self.head(x)

    model = Model(12, 512, 1000).cuda().bfloat16()
    if "--compile" in sys.argv:
        model = torch.compile(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    times, start = [], time.perf_counter()
    for ids in torch.utils.data.DataLoader(torch.randint(0, 1000, (2 * STEPS, 256)), batch_size=2):
        ids = ids.cuda()
        nn.functional.cross_entropy(model(ids).flatten(0, 1).float(), ids.flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
        now = time.perf_counter()
        times.append((now - start) * 1e3)
        start = now
    return statistics.median(times[WARMUP:])


def run(what, record=()):
    command = [*record, sys.executable, __file__, "--run", what]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    figures = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if not figures:
        sys.exit(f"{shlex.join(command)}: exit {done.returncode}: {done.stderr[-600:]}")
    return figures[-1]["figure"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nsatune")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--flags", default="", help="of trace record")
    parser.add_argument("--limit", type=float, default=1.6, help="microseconds a launch, or with --train a share of a step")
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--run", choices=["loop", "train"], help="the program itself")
    options = parser.parse_args()
    if options.run:
        print(json.dumps({"figure": loop() if options.run == "loop" else train()}))
        return 0
    what, unit = ("train", "ms a step") if options.train else ("loop", "us a launch")
    added = []
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as folder:
            record = [options.nsatune, "trace", "record", *shlex.split(options.flags), "-o", folder, "--"]
            without = run(what, [*record[:-3], "--no-python", *record[-3:]] if options.train else ())
            recorded = run(what, record)
        added.append(recorded / without - 1 if options.train else recorded - without)
        print(f"{without:.2f} -> {recorded:.2f} {unit} ({added[-1]:+.2f})", flush=True)
    median = statistics.median(added)
    print(f"median {median:+.2f}, limit {options.limit}")
    return 0 if median <= options.limit else 1


if __name__ == "__main__":
    sys.exit(main())
