"""A plain training of a small transformer with four slips that are easily made, and a flag that mends each. Needs PyTorch and a GPU:

nsatune trace record --warmup 10 --steps 20 -o slow -- python tests/trace/slow_training.py
python tests/trace/slow_training.py --mend data masks --time     # milliseconds a step, without a tracer

- data: each batch is made in the training process, between two steps; mended: by four worker processes, in pinned memory
- masks: each block makes the causal mask anew on the host and copies it; mended: attention is told that it is causal
- optimizer: a loop over all parameters (foreach=False); mended: fused
- loss: looks at every loss, and at every gradient for NaN, one at a time; mended: one look at the end
"""
import argparse
import statistics
import time

import torch
from torch import nn
from torch.nn import functional as F

SLIPS = ("data", "masks", "optimizer", "loss")
STEPS, WARM_UP, WIDTH, HEADS, BLOCKS, VOCABULARY, TOKENS, BATCH = 40, 10, 768, 12, 12, 256, 1024, 4


class Text(torch.utils.data.Dataset):
    """Lines of bytes, put together in Python."""

    def __init__(self):
        self.line = bytes(range(32, 127)) * 20

    def __len__(self):
        return STEPS * BATCH

    def __getitem__(self, i):
        return torch.tensor([self.line[(i * 31 + t * 7) % len(self.line)] for t in range(TOKENS + 1)])


class Block(nn.Module):
    def __init__(self, mended):
        super().__init__()
        self.mended = mended
        self.norm, self.qkv, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def attention(self, q, k, v):
        if "masks" in self.mended:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        mask = torch.ones(TOKENS, TOKENS, dtype=torch.bool).tril().to(q.device)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    def forward(self, x):
        q, k, v = (y.unflatten(-1, (HEADS, -1)).transpose(1, 2) for y in self.qkv(self.norm(x)).chunk(3, -1))
        x = x + self.out(self.attention(q, k, v).transpose(1, 2).flatten(2))
        return x + self.mlp(x)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--mend", nargs="*", choices=SLIPS, default=[])
    arguments.add_argument("--time", action="store_true")
    o = arguments.parse_args()
    torch.manual_seed(1)
    blocks = [Block(o.mend) for _ in range(BLOCKS)]
    model = nn.Sequential(nn.Embedding(VOCABULARY, WIDTH), *blocks, nn.Linear(WIDTH, VOCABULARY)).cuda().bfloat16()
    fused = "optimizer" in o.mend
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=False, fused=fused)
    workers = {"num_workers": 4, "pin_memory": True} if "data" in o.mend else {}
    begin, losses = [], []
    for ids in torch.utils.data.DataLoader(Text(), batch_size=BATCH, **workers):
        begin.append(time.perf_counter())
        ids = ids.cuda(non_blocking=True)
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1).float(), ids[:, 1:].flatten())
        loss.backward()
        if "loss" not in o.mend:
            losses.append(loss.item())
            if any(torch.isnan(p.grad).any() for p in model.parameters()):
                raise SystemExit("a gradient is NaN")
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()
    if o.time:
        times = [b - a for a, b in zip(begin[WARM_UP:], begin[WARM_UP + 1:])]
        print(f"{1e3 * statistics.median(times):.2f} ms a step, mended: {' '.join(o.mend) or 'nothing'}")


if __name__ == "__main__":
    main()
