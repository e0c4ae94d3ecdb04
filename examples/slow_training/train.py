"""A small GPT that trains slowly, because of six slips that are common in training scripts. Needs PyTorch and one GPU.

nsatune trace record -o slow --warmup 10 --steps 20 -- python examples/slow_training/train.py
nsatune doctor slow/*.json.gz
python examples/slow_training/train.py --mend loader,waits      # the same training with these slips mended

The slips, and what --mend does instead (all: all of them). Losses stay the same, except for rounding.
  loader     documents are tokenised in plain Python between the steps -> by eight worker processes, ahead of time
  copies     batches are copied from pageable memory, which the host waits for -> from pinned memory, non_blocking
  mask       every layer makes the causal mask on the host and copies it -> is_causal=True
  waits      the host reads the loss, and looks for NaNs in it and in each gradient -> it reads sums of both once, at the end
  optimizer  AdamW updates one parameter after the other (foreach=False, to save memory) -> fused=True
  cache      unused memory is given back after every step and allocated again in the next one -> it is kept
It prints how long steps take, from the end of one on the GPU to the end of the next, without the first third (at most ten).
--device cpu, with small --layers, --width and --tokens, tries the script without a GPU.
"""
import argparse
import itertools
import random
import time
import unicodedata
from statistics import fmean, median

import torch
from torch import nn
from torch.nn import functional as F

SLIPS = ("loader", "copies", "mask", "waits", "optimizer", "cache")
VOCABULARY = 32_000


class Documents(torch.utils.data.Dataset):
    """Random words as tokens: each word is cut into the longest pieces that are in the vocabulary, and the text in the end."""

    def __init__(self, count, tokens):
        some, parts = random.Random(0), [a + b for a in "bcdfghjklmnprstvwz" for b in "aeiou"]
        pieces = itertools.chain(",.", *(map("".join, itertools.product(parts, repeat=n)) for n in (1, 2, 3)))
        self.vocabulary = {piece: i for i, piece in enumerate(itertools.islice(pieces, VOCABULARY))}
        words = ["".join(some.choices(parts, k=some.randint(1, 5))) + some.choice(["", "", ",", "."]) for _ in range(20_000)]
        self.texts = [" ".join(some.choices(words, k=tokens + 1)) for _ in range(100)]
        self.count, self.tokens = count, tokens

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        text = unicodedata.normalize("NFD", self.texts[index % len(self.texts)].lower())
        text = "".join(c if c.isalnum() else f" {c} " for c in text if unicodedata.category(c) != "Mn")
        ids = []
        for word in text.split():
            while word:
                end = len(word)
                while word[:end] not in self.vocabulary:
                    end -= 1
                ids.append(self.vocabulary[word[:end]])
                word = word[end:]
        return ids[:self.tokens + 1]


class Block(nn.Module):
    def __init__(self, width, is_causal):
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.is_causal = is_causal

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = (y.view(batch, tokens, width // 64, 64).transpose(1, 2) for y in self.qkv(self.norm(x)).chunk(3, -1))
        mask = None if self.is_causal else nn.Transformer.generate_square_subsequent_mask(tokens).to(x.device)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=self.is_causal)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.mlp(x)


class GPT(nn.Module):
    def __init__(self, layers, width, tokens, is_causal):
        super().__init__()
        self.embedding, self.positions = nn.Embedding(VOCABULARY, width), nn.Parameter(torch.zeros(tokens, width))
        self.blocks = nn.ModuleList(Block(width, is_causal) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, VOCABULARY, bias=False)
        self.head.weight = self.embedding.weight
        nn.init.normal_(self.embedding.weight, std=0.02)

    def forward(self, ids):
        x = self.embedding(ids) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--mend", default="", metavar="WHAT[,WHAT...]", help=f"of {', '.join(SLIPS)}; or all")
for name, default in (("steps", 30), ("layers", 12), ("width", 768), ("tokens", 1024), ("batch", 8)):
    parser.add_argument("--" + name, type=int, default=default)
parser.add_argument("--device", default="cuda", type=torch.device)
o = parser.parse_args()
mend = set(SLIPS) if o.mend == "all" else set(o.mend.split(",")) - {""}
if not mend <= set(SLIPS) or o.steps < 2:
    parser.error(f"--mend takes {', '.join(SLIPS)} or all; --steps takes 2 or more")
is_cuda = o.device.type == "cuda"
torch.manual_seed(0)
with o.device:
    model, loss_sum, nans, ends = GPT(o.layers, o.width, o.tokens, "mask" in mend), 0.0, torch.zeros(()), []
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, **({"fused": True} if "optimizer" in mend else {"foreach": False}))
loader = torch.utils.data.DataLoader(Documents(o.steps * o.batch, o.tokens), o.batch, collate_fn=torch.tensor,
                                     num_workers=8 if "loader" in mend else 0, pin_memory="copies" in mend)
for ids in loader:
    ids = ids.to(o.device, non_blocking="copies" in mend)
    with torch.autocast(o.device.type, torch.bfloat16):
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
    if "waits" not in mend and torch.isnan(loss).any():
        raise SystemExit("the loss is NaN")
    optimizer.zero_grad()
    loss.backward()
    if "waits" in mend:
        nans += torch.stack([torch.isnan(p.grad).any() for p in model.parameters()]).sum()
    elif any(torch.isnan(p.grad).any() for p in model.parameters()):
        raise SystemExit("a gradient has NaNs")
    optimizer.step()
    loss_sum += loss.detach() if "waits" in mend else loss.item()
    if "cache" not in mend:
        torch.cuda.empty_cache()
    now = torch.cuda.Event(enable_timing=True) if is_cuda else time.perf_counter()
    ends.append(torch.cuda.current_stream().record_event(now) if is_cuda else now)
if nans.item() > 0:  # and the GPU has done everything
    raise SystemExit("gradients had NaNs")
pairs = itertools.pairwise(ends[max(1, min(10, o.steps // 3)) - 1:])
times = [a.elapsed_time(b) if is_cuda else (b - a) * 1e3 for a, b in pairs]
print(f"loss {float(loss_sum) / o.steps:.4f}, {len(times)} steps: median {median(times):.2f} ms, mean {fmean(times):.2f} ms")
