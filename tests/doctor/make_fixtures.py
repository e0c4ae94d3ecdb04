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

from fixture_traces import (GIB, in_steps, loop, ordinary, steady, with_allocations, with_blocking, with_comm,
                            with_copies, with_heads, with_loading, with_memory, with_operator, with_waits)

ROOT = pathlib.Path(__file__).parent / "fixtures"
GOOD = {
    "NSA_FORCE_SEL_MASK": "1",
    "NSA_PREFILL_BATCHED": "1",
    "NSA_DISABLE_AUX_STATS": "1",
    "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
    "NSA_USE_FA2": "0",
}


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
