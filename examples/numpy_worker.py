"""A worker of your own: nsatune sweep quick --with-ours --worker "python3 examples/numpy_worker.py"

It needs NumPy only and brings one variant of the stage attend_selected, numpy_gather: the keys and
values of each query's selected ranges are gathered, then softmax and two products. Put your kernel
(Triton, PyTorch, ...) in the place of attend(), and it is checked, measured and tuned beside ours.

The protocol is one JSON document a line, requests on stdin, replies on stdout, nothing else there
(schemas/json/worker_request.schema.json and worker_reply.schema.json). This worker does not make
inputs itself ("generator": false), so `prepare` names a safetensors file that holds them.
"""
import hashlib, json, struct, sys, time
import numpy as np

TYPES = {"F64": np.float64, "F32": np.float32, "I32": np.int32}


def load(path):  # safetensors: length of the header, header, bytes
    data = open(path, "rb").read()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    part = lambda t: data[start + t["data_offsets"][0]:start + t["data_offsets"][1]]
    return {name: np.frombuffer(part(t), TYPES[t["dtype"]]).reshape(t["shape"])
            for name, t in json.loads(data[8:start]).items()}


def save(path, name, x):
    kind = "F64" if x.dtype == np.float64 else "F32"
    entry = {"dtype": kind, "shape": list(x.shape), "data_offsets": [0, x.nbytes]}
    header = json.dumps({name: entry}).encode()
    open(path, "wb").write(struct.pack("<Q", len(header)) + header + x.tobytes())


def attend(q, k, v, ranges, first, out):
    """q [tokens, q_heads, dk]; k, v [context_tokens, kv_heads, d]; ranges [tokens, kv_heads, n, 2]
    count from the token's own sequence, which begins at row first[token] of k and v."""
    group = q.shape[1] // k.shape[1]
    for t, g in np.ndindex(ranges.shape[:2]):
        rows = first[t] + np.concatenate([np.arange(a, b) for a, b in ranges[t, g]])
        heads = slice(g * group, (g + 1) * group)
        score = q[t, heads] @ k[rows, g].T / np.sqrt(q.shape[2])
        weight = np.exp(score - score.max(axis=1, keepdims=True))
        out[t, heads] = (weight / weight.sum(axis=1, keepdims=True)) @ v[rows, g]


def sample(run):
    start = time.monotonic_ns()
    run()
    took = time.monotonic_ns() - start
    return {"start_ns": start, "device_ns": took, "host_ns": took}


def hello(r):
    source = hashlib.sha256(open(__file__, "rb").read()).hexdigest()[:16]
    return {"type": "hello", "protocol": 1, "worker": "numpy " + np.__version__, "executor": "numpy",
            "generator": False, "verifies": True, "variants": [{"stages": ["attend_selected"],
            "name": "numpy_gather", "points": [{}], "source_hash": source}],
            "device": {"id": "cpu", "backend": "cpu", "name": "NumPy", "uuid": ""}}


def prepare(r):
    p = r["problem"]
    if p["dtype"] not in ("fp32", "fp64"):
        return {"type": "failed", "status": "unsupported", "reason": p["dtype"] + ": use fp32 or fp64"}
    x, lens = load(r["inputs"]), np.add(p["seq_lens"], p["context_lens"])
    first = np.repeat(np.cumsum(lens) - lens, p["seq_lens"])
    out = np.empty((*x["q"].shape[:2], x["v_sel"].shape[2]), x["q"].dtype)
    run = lambda: attend(x["q"], x["k_sel"], x["v_sel"], x["ranges"], first, out)
    handles[r["id"]] = run, out  # any number that is not in use
    return {"type": "prepared", "handle": r["id"], "first_call_ns": sample(run)["host_ns"], "workspace_bytes": 0}


def verify(r):
    run, out = handles[r["handle"]]
    out[:] = np.nan  # what run() leaves untouched is found
    run()
    save(r["outputs"], "o_sel", out if r.get("rows") is None else out[r["rows"]])
    return {"type": "verified", "poison_left": 0, "non_finite": int((~np.isfinite(out)).sum())}


def measure(r):
    samples = []
    for _ in range(r["samples"]):
        flush[:] += r["cold"]  # 128 MiB: pushes the inputs out of the caches
        samples.append(sample(handles[r["handle"]][0]))
    return {"type": "measured", "samples": samples}


def release(r):
    del handles[r["handle"]]
    return {"type": "released"}


def unknown(r):  # `describe` is optional
    return {"type": "failed", "status": "unsupported", "reason": r["type"] + " is not known here"}


handles, flush = {}, np.zeros(1 << 24)
answers = {f.__name__: f for f in (hello, prepare, verify, measure, release)}
for line in sys.stdin:
    request = json.loads(line)
    if request["type"] == "bye":
        break
    reply = answers.get(request["type"], unknown)(request)
    print(json.dumps({**reply, "id": request.get("id", 0)}), flush=True)
