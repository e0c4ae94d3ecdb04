"""Every wish of the users' reports 000 to 004, with what answers it."""
from .reports_bench import Failed, both, gpu, gpu_test, line, only_gpu, ran, refused, test

TITLES = {
    "000": "NSA performance optimization plan",
    "001": "Selection varlen packed performance",
    "002": "A100 throughput optimization plan",
    "003": "50K training performance analysis",
    "004": "Performance critical settings",
}
RUN = "run --preset tiny --seq-len 512 --steps 2 --no-db"
TABLES = "--preset 125m --seq-lens 512 --processes 3 --steps 2"
ON_GPU = "scripts/results/users_tables.py --device cuda:0"


def cells(document):
    return {cell["label"]: cell for cell in document["cells"]}


def rate(cell):
    """"v1 292 tok/s [280, 305]"."""
    if not cell["tokens_per_s"]:
        return f"{cell['label']} {cell['status']}"
    low_high = cell["tokens_per_s_interval"]
    interval = f" [{low_high[0]:,.0f}, {low_high[1]:,.0f}]" if low_high else ""
    return f"{cell['label']} {cell['tokens_per_s']:,.0f} tok/s{interval}"


def rates(document):
    return "CPU, forward only: " + ", ".join(rate(cell) for cell in document["cells"])


def training_rates(document):
    rates_of = ", ".join(f"S {cell['seq_len']} B {cell['batch']} {rate(cell)}" for cell in document["cells"])
    return f"CPU, whole training steps of the tiny model: {rates_of}"


def step_memory(document):
    return f"CPU, by arithmetic: a training step holds {document['peak_bytes'] / 1e9:.2f} GB at its peak, " \
        f"{document['parts']['activations'] / 1e9:.2f} GB of it activations, checkpointed layers: {document['checkpoint']}"


def claims(document):
    return "CPU, S 512: " + ", ".join(f"{c['step']} {c['speedup']:.2f}x of {c['claimed'][0]:g}x: {c['claim']}"
                                      for c in document["claims"] if c["speedup"])


def eta(document):
    return "CPU, 50,000 forward passes: " + ", ".join(
        f"{s['label']} {s['hours']:.1f} h" for s in document["eta"]["settings"] if s["hours"]) + \
        "; training: " + document["eta"]["settings"][0]["training"]


def known_eta(document):
    setting = document["eta"]["settings"][0]
    return f"{setting['hours'] / 24:.1f} days at the reported 39 tok/s: {setting['training']}"


def slopes(document):
    return "CPU: " + ", ".join(f"{row['variant']} {row['slope']:.2f}{' ALARM' if row['alarm'] else ''}"
                               for row in document["scaling"] if row["slope"])


def targets(document):
    judged = document["judged"]
    return f"{len(judged)} targets of A100, H100 and RTX 4090, all unverified; here: " + \
        ", ".join(sorted({one["verdict"] for one in judged}))


def engaged(document):
    return "CPU: " + ", ".join(f"{one['stage']}/{one['variant']}" for one in document["engaged"])


def shape(document):
    model = document["model"]
    return f"`--preset 125m` is that shape: {model['layers']} layers, {model['q_heads']}/{model['kv_heads']} heads, " \
        f"{model['parameters'] / 1e6:.1f} M parameters; `--config FILE` reads a YAML of yours"


def shapes(document):
    rows = [row for row in document["results"] if row["outcome"] == "ok" and row["problem"]["phase"] == "prefill"]
    if not rows:
        raise Failed("the sweep over other shapes has no rows")
    by_block = {}
    for row in rows:
        by_block.setdefault(row["problem"]["sel_block"], []).append(row["median_ns"])
    return "CPU, attend_selected, best: " + ", ".join(f"l' {block} {min(times) / 1e6:.2f} ms"
                                                      for block, times in sorted(by_block.items()))


def memory(document):
    peak = max(document["stages"], key=lambda stage: stage["workspace_bytes"][0] or 0)
    return f"CPU, S 2048: {len(document['stages'])} stages by batch; weights {document['weights_bytes'] / 1e6:.0f} MB, " \
        f"most workspace {peak['workspace_bytes'][0] / 1e6:.1f} MB ({peak['stage']})"


def selection(name):
    def found(document):
        rows = [(table, row) for table in document["tables"] for row in table["rows"] if row["name"] == name]
        return "; ".join(f"S {table['tokens']}, r {table['alike']:g}: {row['recall']:.1%} of the picks, "
                         f"{1 - row['reads'] / row['exact_reads']:.1%} of the reads saved"
                         for table, row in rows if row["queries"]) or "nothing to lose at these lengths"
    return found


def probes(document):
    known = [f"{one['library']} {'yes' if one['usable'] else 'no'}" for one in document["libraries"]]
    return "here: " + ", ".join(known)


def variants_like(*names):
    def found(document):
        have = [f"{'+'.join(row['stages'])}/{row['name']} ({row['backend']})" for row in document["variants"]
                if row["name"] in names]
        return "rows " + ", ".join(have)
    return found


SELECTION = "report selection --tokens 1024,4096 --alike 0.9"

ROWS = [
    ("000", "FA-2 dense and varlen wrappers, probes, fallback",
     both(ran("variants", variants_like("fa2_dense", "fa2_varlen")),
          test("fallbacks are sorted into the users' seven counters", "fallbacks are counted with their reason"))),
    ("000", "heads without copies (repeat_interleave)",
     gpu(f"nsatune sweep --stage attend_selected --device cuda:0", "h200_sweep.txt", r"(kv_expanded)\s",
         "`{}` is the row that copies, measured beside the ones that index; none of the others holds an expanded K or V")),
    ("000", "workspace reserves N, K, L",
     test("reserves are the largest need within a quarter of the memory", "swept, kept where they pay, bounded by memory")),
    ("000", "selection varlen with an exact fallback",
     gpu_test("rows that select nothing are zeros, overlaps count once, on every CUDA row", "right, empty rows too")),
    ("000", "varlen v2, its flag and a least length",
     ran("NSA_USE_SEL_VARLEN=1 " + RUN, engaged)),
    ("000", "p_cmp in mixed precision",
     test("a sweep keeps the agreement of rows of reduced precision for each kind of problem",
          "rows `p_cmp_bf16`, `p_cmp_fp16`; the share of fp32's blocks that they find stands beside their time")),
    ("000", "p_slc and p_grp in mixed precision, ties in fp32",
     gpu_test("blocks whose scores tie are chosen by their index, on every CUDA row and type", "identical picks at ties")),
    ("000", "batched prefill as sequential, at small S too",
     test("sequential prefill equals batched prefill", "and decode equals both")),
    ("000", "parity on the GPU before a merge",
     gpu("tests/gpu/run_on_device.sh build/cuda", "h200_checks.txt", r"(memcheck good)", "`{}` for 106 of 108 tests, racecheck and synccheck as far as they ran")),
    ("000", "FA-2 least lengths, tuned, in config and CI",
     test("several ranges become the setting that loses least, and the file says so",
          "`nsatune tune --emit`; `verify` is the job that checks the file")),
    ("000", "gate and combination in one pass",
     ran("variants", variants_like("gate_fused", "three_steps"))),
    ("000", "Q/K projection and RoPE in one kernel",
     gpu("nsatune sweep --stage project_rope --device cuda:0", "README.md", r"`fused` \(one kernel\) \| \S+ \| (\.\d+)",
         "`project_rope/fused` is a row and takes {} ms at 8,192 tokens")),
    ("000", "telemetry: engaged and fallback, lengths, heartbeat",
     ran(RUN, lambda d: "CPU: " + ", ".join(sorted(d["telemetry"]))[:160])),
    ("000", "which kernel really ran",
     only_gpu("nsatune run --trace --device cuda:0", "needs a GPU; it compares the names of CUPTI with the rows that are named, and a mismatch exits 1")),
    ("000", "force FA-2 (FORCE_DENSE, MIN_LEN 1)",
     ran("NSA_USE_FA2=1 NSA_FA2_FORCE_DENSE=1 NSA_ALLOW_SLIDING_FA2=1 " + RUN, engaged)),
    ("000", "install and verify FA-2",
     ran("devices", probes)),
    ("000", "memory: fragmentation, allocated ahead, pools",
     gpu_test("a whole layer neither allocates nor waits nor copies to or from the host",
          "one arena a call; peak and grow events in every `run`")),
    ("000", "checkpointing of layers 4 to 8",
     both(ran("memory --preset 125m --train --seq-len 2048 --batch 2", step_memory),
          ran("memory --preset 125m --train --seq-len 2048 --batch 2 --checkpoint 4-8", step_memory))),
    ("000", "host loops (B x S x G iterations)",
     gpu(ON_GPU, "users_tables.md", r"^\| 2048 \| ranges \|[^|]*\| (\d+) \| (\d+) \|",
         "the loop takes {} ms a step ({} tok/s) at 2,048 tokens; `trace summary` has idle time per stage")),
    ("000", "selection vectorised; selection_gather as a CUDA kernel",
     gpu_test("all converters follow the rule for ids that are odd", "row `gather`: a thread block per query and KV head")),
    ("000", "adaptive n (8, 12, 16)", ran(SELECTION, selection("adaptive n"))),
    ("000", "hierarchical selection", ran(SELECTION, selection("hierarchical, max"))),
    ("000", "other shapes (l' 128, n 12, w 256, S 1536)",
     ran("sweep quick --stage attend_selected --variant fused_*,masked --axis seq_len=1536 --axis sel_block=64,128 "
         "--axis sel_count=12 --axis window=256 --accept-noise --new --db shapes.sqlite --quiet", shapes)),
    ("000", "expected improvements, step by step", ran(f"report claims {TABLES}", claims)),
    ("000", "benchmark_configuration (10 warm-ups, 100 steps)",
     ran("run --preset tiny --seq-len 128 --warmup 10 --steps 100 --no-db",
         lambda d: f"CPU, forward only: {d['tokens_per_s']:,.0f} tok/s, median of {len(d['step_ns'])} steps")),
    ("000", "memory profiling table", ran("report memory --seq-len 2048", memory)),
    ("000", "tok/s against batch", ran("report batch --preset tiny --seq-lens 256 --batches 1,2,4 --kv-heads 1,2,8 "
                                       "--processes 3", rates)),
    ("000", "target 300 to 800 tok/s", ran("report targets", targets, exits=(0, 3))),
    ("001", "forward matrix S x adaptive, v1, v2",
     both(ran(f"report matrix {TABLES}", rates),
          gpu(ON_GPU, "users_tables.md", r"^\| 2048 \| v2 \|[^|]*\| [\d.]+ \| ([\d,]+) \|",
              "v2 {} tok/s at 2,048 tokens, forward only"))),
    ("001", "training matrix, 50 steps",
     ran("report matrix --train --preset tiny --seq-lens 128,256 --batches 1,2 --processes 3 --steps 10", training_rates)),
    ("001", "adaptive v2 dispatcher, MIN_S 1024",
     test("the range converter follows its switch, else its minimum", "the crossing is measured, not assumed")),
    ("001", "packing by scatter and cumulative sums",
     ran("variants", variants_like("ranges_v2", "gpu_merge", "varlen_v2"))),
    ("001", "FA-2 probes never true on a CPU",
     test("every optional library is usable with a version or unusable with a reason", "by what it opens, not by a flag")),
    ("001", "memory limits (out of memory at batch 2)",
     gpu_test("memory that is not there is out of memory, and the device goes on working", "a row, and the sweep goes on")),
    ("001", "validations: equivalence, counters, masks, groups, guard",
     gpu_test("groups of 1 to 16 heads give the oracle's answer on every CUDA row", "each row against the fp64 oracle first")),
    ("001", "production config and environment",
     both(ran("run --preset 125m --seq-len 512 --steps 1 --no-db", shape),
          ran("doctor --list", line(r"^masked_switch_off.*?(The masked path of selected attention is not forced)")))),
    ("002", "NVTX ranges on stages",
     test("ranges of NVTX do no harm to a program that has the library in it", "names of the stages; nothing without a tool")),
    ("002", "profiler harness: Chrome trace and summary",
     only_gpu("nsatune trace record --skip 10 --warmup 10 --steps 50 -- nsatune run --preset 125m --steps 200 "
              "--device cuda:0", "needs a GPU; on a CPU `report bundle` writes the trace of the stages")),
    ("002", "wall time by stage",
     only_gpu("nsatune trace summary trace", "needs a trace of a GPU, of any program; gives stages, idle time and copies per step")),
    ("002", "strategy A (masks) against B (merge on the GPU), A/B",
     gpu("nsatune report bundle NSA_FORCE_SEL_MASK=1 'NSA_USE_SEL_VARLEN=1 NSA_SEL_RANGES_V2=1' -o ab --device cuda:0",
         "users_tables.md", r"^\| 2048 \| masked \|[^|]*\| ([\d.]+) \|", "masks {} ms a step at 2,048 tokens")),
    ("002", "no host synchronisation in the mapping",
     gpu_test("a whole layer neither allocates nor waits nor copies to or from the host", "counted by CUPTI on the H200")),
    ("002", "audit of SDPA's routing",
     ran("doctor --list", line(r"^log_sdpa_fallback.*?(SDPA fell back)"))),
    ("002", "DDP buckets, accumulation, compression",
     refused("nsatune doctor trace", "one device is measured; `trace` and `doctor` read what other programs' ranks did "
             "(rules distributed_settings, trace_exposed_comm)")),
    ("002", "PCIe and NVLink bands", ran("report targets", targets, exits=(0, 3))),
    ("002", "selection equivalence, Eq. 9 verifier",
     test("block weights are the share of overlapping tokens and sum to one", "and the golden ranges of the layer")),
    ("002", "one log line per fallback, versions pinned",
     test("the slow path is warned about once per reason", "the environment stands in every run")),
    ("002", "A/B bundle: trace, summary, before and after, note, runbook",
     ran("report bundle NSA_USE_SEL_PACK=0 NSA_FORCE_SEL_MASK=1 --preset tiny --seq-lens 512 --processes 2 -o ab",
         line(r"(B is .*)$"))),
    ("003", "forward time by S, with time limits",
     ran("report paths --preset 125m --seq-lens 4096 --processes 1 --timeout 0.05",
         lambda d: f"{sum(c['status'] == 'timeout' for c in d['cells'])} of {len(d['cells'])} cells are rows "
                   "`timeout: over 0.05 s`, and the table goes on", exits=(0, 3))),
    ("003", "scaling law, alarm over 1.3",
     ran("report scaling --runs --preset tiny --seq-lens 128,256,512,1024 --processes 2 --steps 1", slopes)),
    ("003", "v1 against v2 at S 512",
     gpu(ON_GPU, "users_tables.md", r"^\| 512 \| v2 \|[^|]*\| [\d.]+ \| [\d,]+ \| (\S+) \|",
         "v2 is {} as fast as v1 at 512 tokens; the overhead of 75 % does not show")),
    ("003", "utilisation of 8 to 10 %, diagnosis of hangs",
     test("a worker that hangs again names the kernel and the open ranges", "host stacks, last kernel, idle time")),
    ("003", "go or no-go, hours of 50,000 steps",
     both(ran("report eta --preset 125m --seq-lens 512 --processes 2 --measured-steps 1", eta),
          ran("report eta --tokens-per-s 39 --seq-lens 2048 --batch 2", known_eta))),
    ("003", "simpler configurations: no selection, smaller, dense",
     ran("report ablations --preset tiny --seq-lens 512 --processes 3", rates)),
    ("003", "H100, TF32, launch parameters",
     gpu("nsatune sweep --stage out_proj --device cuda:0", "h200_checks.txt", r"(gemm_tf32)",
         "`{}` is a row of reduced precision, tile sizes are points of rows; results are keyed by device")),
    ("003", "malformed batch",
     ran("doctor --list", line(r"^log_malformed_batch.*?(A rank got a malformed batch)"))),
    ("003", "patterns kept between queries", ran(SELECTION, selection("reused, 2"))),
    ("003", "compression in one kernel with what follows",
     gpu("nsatune sweep --stage attend_compressed --stage score --device cuda:0", "selection_recall.md",
         r"with scores and top-n \(`attend_compressed\+score/fused`\) \| (\S+)",
         "`attend_compressed+score/fused`: {} ms at 2,048 tokens, 125M shape; `compress/avg` is a kernel of its own")),
    ("003", "Triton scoring",
     refused("nsatune sweep --stage score --device cuda:0", "no Triton here; what a faster score could save at most is the "
             "difference of attend_compressed+score and attend_compressed, {} of the whole attention on the 125M shape",
             "selection_recall.md", r"(9 to 12 %) of the whole attention")),
    ("004", "masked path by default, override works",
     both(ran(RUN, engaged), ran("NSA_FORCE_SEL_MASK=1 " + RUN, engaged))),
    ("004", "slow-path warning",
     test("a slow path that a variable asked for is never silent", "`run --strict` exits 1")),
    ("004", "masked against ranges (1000x)",
     both(ran(f"report paths {TABLES}", rates),
          gpu(ON_GPU, "users_tables.md", r"^\| 2048 \| masked \|[^|]*\| [\d.]+ \| [\d,]+ \| (\S+) \|",
              "masked is {} as fast as ranges at 2,048 tokens"))),
    ("004", "checklist of switches", ran("doctor --list", line(r"^prefill_not_batched.*?(Prefill is not batched)"))),
    ("004", "symptoms (idle GPU, log lines)", ran("doctor --list", line(r"^log_idle_gpu.*?(The log says that the GPU is idle)"))),
    ("004", "expectations of A100, H100, RTX 4090", ran("report targets", targets, exits=(0, 3))),
    ("all", "sweep, tune, run by it, check every night",
     test("a step in a history of nights is found, planted again and answered for", "through the real programs")),
]
