#!/usr/bin/env python3
"""Writes fixtures/<rule>/{red,green}: input in which `nsatune doctor` must find the rule, and input
close to it in which it must not. Run it after a change: python3 tests/doctor/make_fixtures.py

`env` is given as --env-file, measured.json becomes a results database, everything else is an
argument. Traces are packed without a time stamp, so that the same input gives the same bytes.
"""
import gzip
import json
import pathlib
import shutil

ROOT = pathlib.Path(__file__).parent / "fixtures"
GOOD = {
    "NSA_FORCE_SEL_MASK": "1",
    "NSA_PREFILL_BATCHED": "1",
    "NSA_DISABLE_AUX_STATS": "1",
    "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
    "NSA_USE_FA2": "0",
}
GIB = 1 << 30


def env(**changes):
    values = {**GOOD, **changes}
    return {"env": "# how the run is started\n"
            + "".join(f"export {k}={v}\n" for k, v in values.items() if v is not None)}


def config(train="", runtime="", model="", nsa=""):
    text = ("model: {dim: 768, n_layers: 12, n_heads: 12, n_kv_groups: 2, d_k: 64, d_v: 64"
            f"{model}}}\nnsa: {{l: 32, d: 16, l_sel: 64, n_sel: 16, w: 512{nsa}}}\n"
            f"runtime:\n  device: cuda\n{runtime}train:\n  steps: 100\n{train}")
    return {**env(), "train.yaml": text}


def log(*lines):
    """A log that some rule knows something in: a throughput, unless the lines have theirs."""
    if not any("tok" in line or "%" in line for line in lines):
        lines = ("step 1 | loss 5.7 | 9,200 tok/s", *lines)
    return {"run.log": "starting\n" + "".join(line + "\n" for line in lines) + "done\n"}


def heartbeat(*records, **last):
    rows = [{"ts": 1000.0 + 10 * i, "rank": 0, "step": 10 * i, "msg": "progress",
             "toks_per_s": 9000.0} for i in range(4)]
    rows[-1].update(last)
    rows += records
    return {"heartbeat_rank0.jsonl": "".join(json.dumps(r) + "\n" for r in rows)}


def measured(fa2_ns, other_ns):
    rows = [{"stage": stage, "variant": variant, "seq_len": 2048, "median_ns": ns}
            for stage in ("attend_window", "attend_compressed")
            for variant, ns in (("fa2_varlen", fa2_ns), ("fused", other_ns))]
    return {"measured.json": json.dumps(rows, indent=1) + "\n"}


class Trace:
    """Kernels on one stream, each launched by a call of its own; times in microseconds."""

    def __init__(self):
        self.events, self.now, self.id = [], 0.0, 0

    def add(self, cat, name, ts, dur, tid, **args):
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": tid,
                            "ts": round(ts, 3), "dur": round(dur, 3), "args": args})

    def op(self, name, dur, gap=0.0, cat="kernel", call="cudaLaunchKernel", stream=7, late=False,
           blocking=False, far=False, gpus=1):
        """An operation `gap` after the last one; `late`: launched only when it was over; `far`: all
        are launched one after the other at the start; `gpus`: on so many at the same time."""
        start = self.now + gap
        for gpu in range(gpus):
            self.id += 1
            launch = 3 * self.id - 100 if far else start - (3 if late or blocking else 30) + 3 * gpu
            self.add("cuda_runtime", call, launch, dur + 4 if blocking else 2, 1,
                     correlation=self.id)
            self.add(cat, name, start, dur, stream, correlation=self.id, device=gpu, stream=stream)
        self.now = start + dur

    def call(self, name, ts, dur):
        self.id += 1
        self.add("cuda_runtime", name, ts, dur, 1, correlation=self.id)

    def text(self):
        return {"trace.json.gz": {"traceEvents": self.events}}


def steady(kernels=40, name="gemm", dur=100.0):
    trace = Trace()
    for _ in range(kernels):
        trace.op(name, dur)
    return trace


def loop(kernels, dur, gap, wait_every=0, name="tiny"):
    """Kernels with a gap before each, in which the host has launched nothing yet."""
    trace = Trace()
    for i in range(kernels):
        trace.op(name, dur, gap, late=True)
        if wait_every and i % wait_every == 0:
            trace.add("cpu_op", "aten::item", trace.now - 1, 3.5, 1)
            trace.call("cudaStreamSynchronize", trace.now - 0.5, 2)
    return trace


def in_steps(trace, count):
    """The same in steps of equal length, as PyTorch's profiler marks them."""
    for i in range(count):
        trace.add("user_annotation", f"ProfilerStep#{i}", i * trace.now / count, trace.now / count, 1)
    return trace


def with_blocking(us, then=None):
    """Launch calls that outlast their kernels; `then`, a few that are launched ahead."""
    trace = Trace()
    for i in range(120):
        trace.op("tanh", us, gap=5, blocking=True)
        if then and i % 20 == 0:
            trace.op(then, 100)
    return trace


def with_waits(count, every=1):
    """The host launches far ahead, but for waits, behind which the GPU has nothing to do."""
    trace = Trace()
    for i in range(count):
        waits = i % every == 0
        trace.op("gemm", 100, gap=12 if waits else 0, late=waits)
        if i % every == every - 1:
            trace.call("cudaStreamSynchronize", trace.now - 50, 51)
    return trace


def with_copies(count, us=10, way="Memcpy DtoH (Device -> Pageable)"):
    trace = Trace()
    for _ in range(count):
        trace.op("gemm", 100, far=True)
        trace.op(way, us, cat="gpu_memcpy", call="cudaMemcpyAsync", far=True)
    return trace


def with_loading(us):
    """Steps before which the launching thread fetches a batch."""
    trace = Trace()
    for step in range(8):
        begin = trace.now
        trace.add("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
                  begin + 1, us, 1)
        trace.op("gemm", 400, gap=us + 8, late=True)
        for _ in range(4):
            trace.op("gemm", 400)
        trace.call("cudaStreamSynchronize", trace.now - 300, 300)
        trace.add("user_annotation", f"ProfilerStep#{step}", begin, trace.now - begin, 1)
    return trace


def add_repeat(trace, around, dims, dtype, dur):
    """repeat_interleave within `around`, with its kernel."""
    launch = trace.now - 30
    trace.add("user_annotation", around, launch - 6, 14, 1)
    trace.add("cpu_op", "aten::repeat_interleave", launch - 3, 8, 1,
              **{"Input Dims": [dims], "Input type": [dtype]})
    trace.op("void at::native::elementwise_kernel<128>(int)", dur)


def with_heads(around, dims, dtype):
    trace = Trace()
    for _ in range(20):
        trace.op("gemm", 100)
        add_repeat(trace, around, dims, dtype, 20)
    return trace


def ordinary():
    """Healthy programs that have nothing to do with NSA: no rule may find anything in them."""
    training = with_loading(10)  # its data are there, its gradients hidden behind computation
    training.add("kernel", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 1000, 900, 20, device=0,
                 stream=20)
    training.add("cpu_op", "aten::repeat_interleave", 1200, 5, 1)  # of labels, not of heads
    training.op("void at::native::unique_kernel(long*)", 20)
    server = Trace()  # replays a graph with a pause between requests
    for _ in range(60):
        server.op("void flash_fwd_kernel<traits>(params)", 300, call="cudaGraphLaunch")
        server.op("Memcpy DtoH (Device -> Pinned)", 2, cat="gpu_memcpy", call="cudaMemcpyAsync")
        server.call("cudaStreamSynchronize", server.now - 200, 200)
    image = Trace()  # many small kernels, launched far ahead, one wait an iteration
    for _ in range(600):
        image.op("void at::native::vectorized_elementwise_kernel<4>(int)", 4)
    image.call("cudaDeviceSynchronize", image.now - 100, 101)
    attention = steady(60, dur=100)  # a little of it without flash is no finding
    attention.op("void PyTorchMemEffAttention::AttentionKernel<float>(params)", 100)
    add_repeat(attention, "CausalSelfAttention.forward", [4], "long int", 1)  # of lengths
    attention.add("cpu_op", "CheckpointFunction", 2000, 40, 1)  # evaluates, has no backward pass
    for _ in range(120):  # calls that outlast tiny kernels
        attention.op("tiny", 2, gap=6, blocking=True)
        attention.op("gemm", 100)
    gpus = Trace()  # eight, each with a little of what would be much if it was added up, and one
    for _ in range(20):  # that gets a copy now and then
        gpus.op("gemm", 2000, gap=40, gpus=8)
        gpus.op("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 20, stream=20, gpus=8)
        gpus.op("Memcpy DtoH (Device -> Pinned)", 10, cat="gpu_memcpy", call="cudaMemcpyAsync",
                gpus=8)
        gpus.call("cudaStreamSynchronize", gpus.now - 25, 25)
        gpus.call("cudaMemcpyAsync", gpus.now - 80, 2)
        gpus.add("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", gpus.now - 70, 2, 7, device=8,
                 stream=7, correlation=gpus.id)
    return {"training": training, "server": server, "image": image, "attention": attention,
            "gpus": gpus}


def with_comm(hidden):
    trace = steady()
    end = trace.now
    start = end - 600 if hidden else end
    trace.add("kernel", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", start, 500, 20, device=0,
              stream=20)
    return trace


def with_memory(reserved):
    trace = steady()
    trace.events.append({"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]",
                         "pid": 0, "tid": 1, "ts": 10,
                         "args": {"Device Type": 1, "Device Id": 0, "Addr": 4096, "Bytes": 2 * GIB,
                                  "Total Allocated": 2 * GIB, "Total Reserved": reserved}})
    return trace


def with_allocations(count):
    trace = Trace()
    for _ in range(count):
        trace.call("cudaMalloc", trace.now, 20)
        trace.op("gemm", 100, gap=25)
    return trace


def with_operator(name):
    trace = steady()
    trace.add("cpu_op", name, 10, 5, 1)
    return trace


def command(gpu, cpu, gib, seconds=20.0, last=19.0, code=0):
    head = {"nsatune_command": 1, "command": "python train.py", "seconds": seconds,
            "last_line_at_s": last, "gpu_reason": "", "gpu_total_bytes": 80 * GIB}
    if code is not None:
        head["exit_code"] = code
    rows = [{"at_s": 1.0 * i, "log_lines": i, "gpu_percent": gpu, "gpu_memory_bytes": gib * GIB,
             "cpu_percent": cpu, "rss_bytes": 4 * GIB} for i in range(20)]
    return {"load.jsonl": "".join(json.dumps(r) + "\n" for r in [head] + rows)}


FLASH = "void flash_fwd_kernel<traits>(params)"
MATH = "void PyTorchMemEffAttention::AttentionKernel<float>(params)"
OOM = ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 8.00 GiB. Of the allocated "
       "memory 18.18 GiB is allocated by PyTorch, and {} is reserved by PyTorch but unallocated.")
BELIEF = env(NSA_USE_FA2="1")
SLOW_BEATS = [{"ts": 1040.0 + i, "rank": 0, "step": 40 + i, "msg": "progress", "toks_per_s": 39.0}
              for i in range(9)]

FIXTURES = {
    # variables
    "masked_switch_off": (env(NSA_FORCE_SEL_MASK="0"), env()),
    "slow_switch": (env(NSA_FORCE_PARITY="1"), env(NSA_FORCE_PARITY="0")),
    "prefill_not_batched": (env(NSA_PREFILL_BATCHED=None), env()),
    "range_converter": (env(NSA_SEL_RANGES_V2="0"),
                        {**config("  seq_len: 512\n"), **env(NSA_SEL_RANGES_V2="0")}),
    "fa2_against_measurement": ({**env(NSA_USE_FA2="1"), **measured(30000, 20000)},
                                {**env(NSA_USE_FA2="1"), **measured(20000, 30000)}),
    "fa2_not_measured": (env(NSA_USE_FA2="1"),
                         {**env(NSA_USE_FA2="1"), **measured(20000, 30000)}),
    "launch_blocking": (env(CUDA_LAUNCH_BLOCKING="1"), env(CUDA_LAUNCH_BLOCKING="0")),
    "debug_switches": (env(NSA_STRICT_ASSERTS="1"), env(NSA_STRICT_ASSERTS="0")),
    "aux_statistics": (env(NSA_DISABLE_AUX_STATS="0"), env()),
    "allocator": (env(PYTORCH_CUDA_ALLOC_CONF="max_split_size_mb:512"), env()),
    "distributed_settings": (env(NSA_DDP_FIND_UNUSED="1"),
                             env(NSA_DDP_FIND_UNUSED="0", NSA_DDP_BUCKET_MB="25")),
    "checkpointing_switch": (env(NSA_GC_RANGE="4:8"), env(NSA_GC_RANGE="4:8", NSA_NO_GC="1")),
    "flash_switched_off": (env(NSA_SDPA_NO_FLASH="1"), env(NSA_SDPA_FLASH_ONLY="1")),
    "library_switches": (env(TORCH_CUDNN_V8_API_ENABLED="0"), env(TORCH_CUDNN_V8_API_ENABLED="1")),
    "triton_out_of_reach": (env(NSA_USE_TRITON_SEL="1"),
                            env(NSA_USE_TRITON_SEL="1", NSA_SEL_TRITON_MIN_L="128")),
    "unknown_name": (env(NSA_FORCE_SEL_MSK="1"), env()),
    "bad_value": (env(NSA_SEL_VARLEN_MIN_L="many"), env(NSA_SEL_VARLEN_MIN_L="64")),
    "unread_name": (env(NSA_DEBUG_FA2="1"), env(NSA_HEARTBEAT_EVERY="5")),
    # configs
    "config_checkpointing": (config(runtime="  gradient_checkpointing: true\n"),
                             config(runtime="  gradient_checkpointing: false\n")),
    "config_precision": (config(runtime="  precision: fp32\n"),
                         config(runtime="  precision: bf16\n")),
    "config_batch_small": (config("  batch_size: 1\n"),
                           config("  batch_size: 1\n  accumulate_grad_batches: 4\n")),
    "config_batch_large": (config("  batch_size: 4\n  seq_len: 2048\n"),
                           config("  batch_size: 4\n  seq_len: 1024\n")),
    "config_fa2_believed": (config(runtime="  use_flash: true\n"),
                            {**config(runtime="  use_flash: true\n  fa2_enabled: true\n"
                                              "  fa2_min_len_win: 512\n")}),
    "config_unread_key": (config(runtime="  use_triton_sel: true\n"),
                          config(runtime="  use_triton_sel: false\n")),
    # logs
    "log_slow_path": (log("WARNING: Using slow _sdpa_over_ranges"),
                      log("NSA-LOG prefill.sel.path path=masked_forced")),
    "log_selection_path": (log("NSA-LOG prefill.sel.path path=packed"),
                           log("NSA-LOG prefill.sel.path path=masked_forced")),
    "log_fa2_unused": (log("NSA-LOG fa2.gate_skip branch=win reason=capability"),
                       log("FA2: flash_attn version: 2.5.8")),
    "log_sdpa_fallback": (log("UserWarning: Flash attention kernel not used because: (Triggered "
                              "internally at sdp_utils.cpp:555.)"),
                          log("sdpa backend: flash")),
    "log_crash": (log("Traceback (most recent call last):", '  File "train.py", line 7, in <module>',
                      "RuntimeError: The size of tensor a (3) must match"),
                  log("Traceback (most recent call last):", "ValueError: bad file, skipped",
                      "step 2 | loss 5.6 | 9,100 tok/s")),
    "log_out_of_memory": (log(OOM.format("0.10 GiB")), log("gpu memory 24117 MiB")),
    "log_fragmentation": (log(OOM.format("1.97 GiB")), log(OOM.format("0.10 GiB"))),
    "log_heads_copied": (log("    v = V.repeat_interleave(h, dim=1).reshape(B * G * h, S, D)"),
                         log("    v = V.unsqueeze(2).expand(-1, -1, h, -1, -1)")),
    "log_malformed_batch": (log("[rank1]: IndexError: too many indices for tensor of dimension 1"),
                            log("[rank1]: batch of 2 x 2048")),
    "log_checkpointing": (log("runtime.gradient_checkpointing: True"),
                          log("runtime.gradient_checkpointing: False")),
    "log_debugging": (log(*["NSA-LOG decode.gates g=0.3"] * 120),
                      log(*["NSA-LOG decode.gates g=0.3"] * 5)),
    "log_hang": ({"run.log": "starting\n[debug] step 1: input shape torch.Size([2, 2048])\n"},
                 log("[debug] step 1: input shape torch.Size([2, 2048])",
                     "step 1 | loss 5.7 | 9200 tok/s")),
    "log_collapsed": (log("step 1 | loss 5.7 | 2.1 tok/s", "step 2 | loss 5.6 | 1.9 tok/s"),
                      log("step 1 | loss 5.7 | 9,200 tok/s")),
    # the target is that of one model: nothing is known of any other one
    "log_below_target": (log("config: configs/m7c_125m_2xa100_production.yaml",
                             "progress loss=5.7 toks_per_s=39.0"),
                         {**log("config: configs/m7c_125m_2xa100_production.yaml",
                                "progress loss=5.7 toks_per_s=845.0"),
                          "another.log": "progress loss=5.7 toks_per_s=39.0\n"}),
    "log_idle_gpu": (log("index, memory.used [MiB], utilization.gpu [%]", "0, 24117 MiB, 8 %"),
                     log("index, memory.used [MiB], utilization.gpu [%]", "0, 24117 MiB, 88 %")),
    # heartbeats
    "heartbeat_collapsed": (heartbeat(*[{"ts": 1040.0 + i, "rank": 0, "step": 40 + i,
                                         "msg": "progress", "toks_per_s": 2.0} for i in range(9)]),
                            heartbeat()),
    "heartbeat_below_target": ({**heartbeat(*SLOW_BEATS), **config()}, heartbeat(*SLOW_BEATS)),
    "heartbeat_slow_path": (heartbeat(engaged=[{"stage": "attend_selected", "variant": "ranges",
                                                "calls": 24}]),
                            heartbeat(engaged=[{"stage": "attend_selected", "variant": "masked",
                                                "calls": 24}], slow_path_calls=0)),
    "heartbeat_fallbacks": (heartbeat(fb_selection_pack_fails=3, fb_total_fallbacks=3),
                            heartbeat(fb_selection_pack_fails=0, fb_total_fallbacks=0)),
    "heartbeat_fa2": (heartbeat(fb_sliding_fa2_fails=12), heartbeat(fb_sliding_fa2_fails=0)),
    "heartbeat_aux_statistics": (heartbeat(gate_entropy_mean=0.9), heartbeat(loss=5.7)),
    "heartbeat_fragmentation": (heartbeat(gpu_mem_alloc=2460, gpu_mem_reserved=51200),
                                heartbeat(gpu_mem_alloc=5120, gpu_mem_reserved=6144)),
    "heartbeat_data": (heartbeat(dt_fetch_s=0.45), heartbeat(dt_fetch_s=0.045)),
    "heartbeat_growth": (heartbeat({"ts": 1041.0, "rank": 0, "step": 41, "msg": "progress",
                                    "grow_events": 9}, grow_events=2),
                         heartbeat({"ts": 1041.0, "rank": 0, "step": 41, "msg": "progress",
                                    "grow_events": 2}, grow_events=2)),
    "heartbeat_silence": (heartbeat({"ts": 1300.0, "rank": 0, "step": 40, "msg": "beat"}),
                          heartbeat({"ts": 1100.0, "rank": 0, "step": 40, "msg": "beat"})),
    # traces
    "trace_idle_gpu": (loop(20, 50, 50).text(), loop(20, 50, 5).text()),
    "trace_data_loading": (with_loading(900).text(), with_loading(20).text()),
    "trace_host_syncs": (with_waits(60).text(), with_waits(60, every=30).text()),
    "trace_host_loop": (loop(1200, 3, 6, wait_every=10).text(),
                        # a few waits a step, as of an ordinary training: for its loss, its buckets
                        in_steps(loop(1200, 3, 6, wait_every=20), 12).text()),
    "trace_launch_bound": (loop(100, 3, 6).text(), loop(100, 30, 6).text()),
    "trace_launch_blocking": (with_blocking(50).text(), with_blocking(2, "gemm").text()),
    "trace_host_copies": (with_copies(30).text(), with_copies(30, us=1).text()),
    "trace_exposed_comm": (with_comm(False).text(), with_comm(True).text()),
    "trace_sdpa_fallback": (steady(name=MATH).text(), steady(name=FLASH).text()),
    "trace_fa2_absent": ({**steady(name="cudnn_generated_fort_native_sdpa_fprop").text(),
                          **BELIEF}, {**steady(name=FLASH).text(), **BELIEF}),
    "trace_range_conversion": (steady(name="thrust::unique_dim_kernel").text(),
                               steady(name="thrust::scan_kernel").text()),
    "trace_heads_copied": (with_heads("CausalSelfAttention.forward", [2, 4, 512, 64],
                                      "c10::BFloat16").text(),
                           with_heads("CausalSelfAttention.forward", [512], "long int").text()),
    "trace_checkpointing": (with_operator("CheckpointFunctionBackward").text(),
                            with_operator("CheckpointFunction").text()),
    "trace_fragmentation": (with_memory(8 * GIB).text(), with_memory(2 * GIB + 1000).text()),
    "trace_allocations": (with_allocations(40).text(), with_allocations(4).text()),
    # a running command
    "command_idle_gpu": (command(8, 20, 30), command(92, 20, 30)),
    "command_host_bound": (command(8, 99, 30), command(92, 99, 30)),
    "command_memory_unused": (command(60, 50, 15), command(60, 50, 60)),
    "command_no_gpu": (command(0, 400, 0), command(0, 5, 0)),
    "command_silent": (command(92, 99, 30, 200.0, 10.0, None), command(92, 99, 30, 200.0, 195.0,
                                                                      None)),
}


def write(folder, files):
    folder.mkdir(parents=True)
    for name, content in files.items():
        if name.endswith(".gz"):
            content = gzip.compress(json.dumps(content).encode(), mtime=0)
            (folder / name).write_bytes(content)
        else:
            (folder / name).write_text(content)


def main():
    shutil.rmtree(ROOT, ignore_errors=True)
    for rule, (red, green) in FIXTURES.items():
        write(ROOT / rule / "red", red)
        write(ROOT / rule / "green", green)
    clean = {**config("  batch_size: 2\n  seq_len: 2048\n",
                      "  precision: bf16\n  gradient_checkpointing: false\n"),
             **log("step 1 | loss 5.7 | 9,200 tok/s"), **heartbeat(loss=5.7), **steady().text(),
             **command(95, 60, 60)}
    write(ROOT / "_clean", clean)
    for name, trace in ordinary().items():
        write(ROOT / "_ordinary" / name, trace.text())


main()
