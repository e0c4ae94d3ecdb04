#!/usr/bin/env python3
"""Ranks of a PyTorch job for the injected tracer, one a GPU: each step sums over the ranks twice, once beside products and
once with nothing beside it.

  torchrun --standalone --nproc-per-node 2 traced_ranks.py [--steps 10]
"""
import argparse
import json
import os

import torch
import torch.distributed

arguments = argparse.ArgumentParser()
arguments.add_argument("--steps", type=int, default=10)
o = arguments.parse_args()

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
torch.distributed.init_process_group("nccl")
x = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
beside, alone = torch.ones(1 << 24, device="cuda"), torch.ones(1 << 22, device="cuda")
torch.distributed.all_reduce(alone)  # the communicator is made at its first use
torch.cuda.synchronize()
for step in range(o.steps):
    torch.cuda.nvtx.range_push(f"step {step}")
    handle = torch.distributed.all_reduce(beside, async_op=True)
    for _ in range(10):
        x @ x
    handle.wait()
    torch.distributed.all_reduce(alone)
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_pop()
if torch.distributed.get_rank() == 0:
    print(json.dumps({"steps": o.steps, "world_size": torch.distributed.get_world_size()}), flush=True)
torch.distributed.destroy_process_group()
