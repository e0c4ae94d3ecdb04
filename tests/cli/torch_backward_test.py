#!/usr/bin/env python3
"""Backward rows of attention on a CPU, in fp64 and fp32, against torch.autograd in fp64.

usage: torch_backward_test.py NSATUNE     exit 77 where there is no torch

`nsatune worker` gets the inputs as a safetensors file and writes all rows of its outputs to another.
"""
import json
import math
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import torch
except ImportError:
    torch = None

TOKENS = [37, 70]  # a ragged batch; neither length fills a block
Q_HEADS, KV_HEADS, DK, DV = 6, 2, 8, 4
CMP_BLOCK, CMP_STRIDE, SEL_BLOCK, SEL_COUNT, WINDOW = 8, 4, 8, 4, 11
FORMATS = {"F64": "d", "F32": "f", "I32": "i"}
DTYPES = {"fp64": ("F64", 1e-11), "fp32": ("F32", 1e-5)}  # and the distance that is allowed


class Worker:
    """A conversation with `nsatune worker`."""

    def __init__(self, program, folder):
        self.process = subprocess.Popen([program, "worker", "--device", "cpu"], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.folder, self.id = folder, 0
        self.ask(type="hello", protocol=1, device="cpu")

    def ask(self, **request):
        self.id += 1
        if request["type"] != "hello":
            request["id"] = self.id
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        reply = json.loads(self.process.stdout.readline())
        if reply["type"] == "failed":
            raise SystemExit(f"{request['type']}: {reply}")
        return reply

    def run(self, stage, row, problem, inputs):
        """All outputs of a row: {name: (shape, flat values)}."""
        given, written = self.folder / f"in{self.id}", self.folder / f"out{self.id}"
        write_safetensors(given, inputs)
        handle = self.ask(type="prepare", problem=problem, seed=1, inputs=str(given),
                          variant={"stages": [stage], "name": row, "point": {}})["handle"]
        self.ask(type="verify", handle=handle, rows=None, outputs=str(written))
        return read_safetensors(written)

    def end(self):
        self.process.stdin.write('{"type": "bye"}\n')
        self.process.stdin.close()
        self.process.wait()


def write_safetensors(path, tensors):
    """tensors: [(name, dtype, shape, flat values)], which lie in this order."""
    header, data = {}, b""
    for name, dtype, shape, values in tensors:
        piece = struct.pack(f"<{len(values)}{FORMATS[dtype]}", *values)
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(data), len(data) + len(piece)]}
        data += piece
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    raw = path.read_bytes()
    (size,) = struct.unpack("<Q", raw[:8])
    tensors = {}
    for name, of in json.loads(raw[8:8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + size + at for at in of["data_offsets"])
        form = FORMATS[of["dtype"]]
        values = struct.unpack(f"<{(end - begin) // struct.calcsize(form)}{form}", raw[begin:end])
        tensors[name] = (of["shape"], values)
    return tensors


def compressed_rows(tokens):
    return max((tokens - CMP_BLOCK) // CMP_STRIDE + 1, 0)


def chosen_blocks(tokens, rng):
    """For each query and KV head: the first block, its own and others before it; -1 fills up."""
    blocks = []
    for t in range(tokens):
        for _ in range(KV_HEADS):
            own = t // SEL_BLOCK
            others = [b for b in range(1, own)]
            ids = sorted({0, own} | set(rng.sample(others, min(len(others), SEL_COUNT - 2))))
            blocks += ids + [-1] * (SEL_COUNT - len(ids))
    return blocks


def sees(branch, t, key, head, blocks):
    """Whether query `t` of a KV head attends to a key: the definition of NSA."""
    if branch == "win":
        return t - WINDOW < key <= t
    if branch == "cmp":
        return key * CMP_STRIDE + CMP_BLOCK - 1 <= t
    at = (t * KV_HEADS + head) * SEL_COUNT
    return key <= t and key // SEL_BLOCK in blocks[at:at + SEL_COUNT]


def of_sequence(flat, width, begin, rows):
    return flat[begin * width:(begin + rows) * width]


def autograd(branch, inputs, key_rows, blocks_of):
    """o, d_q, d_k and d_v by torch, sequence by sequence; queries that see nothing give zeros."""
    outputs = [[], [], [], []]
    q_at = key_at = 0
    for tokens, keys, blocks in zip(TOKENS, key_rows, blocks_of):
        def piece(name, heads, width, begin, rows):
            flat = of_sequence(inputs[name], heads * width, begin, rows)
            return torch.tensor(flat, dtype=torch.float64).reshape(rows, heads, width).requires_grad_()
        q = piece("q", Q_HEADS, DK, q_at, tokens)
        k, v = piece("k", KV_HEADS, DK, key_at, keys), piece("v", KV_HEADS, DV, key_at, keys)
        d_o = piece("d_o", Q_HEADS, DV, q_at, tokens).detach()
        group = Q_HEADS // KV_HEADS
        mask = torch.tensor([[[sees(branch, t, key, h // group, blocks) for key in range(keys)]
                              for t in range(tokens)] for h in range(Q_HEADS)])
        logits = torch.einsum("thd,khd->htk", q, k.repeat_interleave(group, 1)) / math.sqrt(DK)
        # A finite value in place of -inf: a row of -inf alone would have no gradients.
        weights = torch.softmax(logits.masked_fill(~mask, -1e30), -1) * mask
        o = torch.einsum("htk,khd->thd", weights, v.repeat_interleave(group, 1))
        (o * d_o).sum().backward()
        for flat, tensor in zip(outputs, (o.detach(), q.grad, k.grad, v.grad)):
            flat += tensor.flatten().tolist()
        q_at, key_at = q_at + tokens, key_at + keys
    return outputs


def distance(got, want):
    """Relative, in the L2 norm."""
    difference = math.sqrt(sum((a - b) ** 2 for a, b in zip(got, want)))
    return difference / max(math.sqrt(sum(b * b for b in want)), 1e-300)


def compare(worker, branch, row, dtype):
    rng = random.Random(f"{branch} {row} {dtype}")
    stored, allowed = DTYPES[dtype]
    problem = {"direction": "backward", "phase": "prefill", "seq_lens": TOKENS,
               "context_lens": [0] * len(TOKENS), "q_heads": Q_HEADS, "kv_heads": KV_HEADS,
               "head_dim_k": DK, "head_dim_v": DV, "cmp_block": CMP_BLOCK, "cmp_stride": CMP_STRIDE,
               "sel_block": SEL_BLOCK, "sel_count": SEL_COUNT, "window": WINDOW, "dtype": dtype,
               "selection": {"pattern": "random"}}
    key_rows = [compressed_rows(n) if branch == "cmp" else n for n in TOKENS]
    blocks_of = [chosen_blocks(n, rng) for n in TOKENS]
    tokens, keys = sum(TOKENS), sum(key_rows)

    def numbers(rows, heads, width):
        values = [rng.gauss(0, 1) for _ in range(rows * heads * width)]
        return list(struct.unpack(f"<{len(values)}f", struct.pack(f"<{len(values)}f", *values)))

    inputs = {"q": numbers(tokens, Q_HEADS, DK), "k": numbers(keys, KV_HEADS, DK),
              "v": numbers(keys, KV_HEADS, DV), "d_o": numbers(tokens, Q_HEADS, DV)}
    o, *want = autograd(branch, inputs, key_rows, blocks_of)
    tensors = [("q", stored, [tokens, Q_HEADS, DK], inputs["q"]),
               (f"k_{branch}", stored, [keys, KV_HEADS, DK], inputs["k"]),
               (f"v_{branch}", stored, [keys, KV_HEADS, DV], inputs["v"])]
    if branch == "sel":
        blocks = ("blocks", "I32", [tokens, KV_HEADS, SEL_COUNT], sum(blocks_of, []))
        forward = {**problem, "direction": "forward"}
        shape, ranges = worker.run("ranges", "ranges_v2", forward, [blocks])["ranges"]
        tensors += [blocks, ("ranges", "I32", shape, ranges)]
    tensors += [(f"o_{branch}", stored, [tokens, Q_HEADS, DV], o),
                (f"d_o_{branch}", stored, [tokens, Q_HEADS, DV], inputs["d_o"])]
    stage = {"win": "attend_window", "cmp": "attend_compressed", "sel": "attend_selected"}[branch]
    got = worker.run(stage, row, problem, tensors)
    good = True
    for name, values in zip(("d_q", f"d_k_{branch}", f"d_v_{branch}"), want):
        apart = distance(got[name][1], values)
        good = good and len(got[name][1]) == len(values) and apart <= allowed
        print(f"{stage}/{row} {dtype} {name}: {apart:.1e} of {allowed:.0e}")
    return good


def main():
    if torch is None:
        print("skipped: there is no torch")
        return 77
    rows = [("win", "fa2_varlen"), ("cmp", "fa2_varlen"), ("sel", "fused_query"),
            ("sel", "fused_block"), ("sel", "masked"), ("sel", "ranges")]
    with tempfile.TemporaryDirectory() as folder:
        worker = Worker(sys.argv[1], Path(folder))
        good = [compare(worker, branch, row, dtype) for branch, row in rows for dtype in DTYPES]
        worker.end()
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
