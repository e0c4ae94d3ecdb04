"""The figures of `nsatune trace summary --json`, computed in another way than the program does.

Shares no code and no method with it: times are cut at every event and walked through once with counters,
names are matched by regular expressions. check_summary.py compares.
"""
import collections
import gzip
import heapq
import json
import re
import sqlite3
from decimal import Decimal

from reference_inferred import inferred

Op = collections.namedtuple("Op", "start end name kind device stream process correlation number bytes")
Call = collections.namedtuple("Call", "start end name thread process correlation driver")
Range = collections.namedtuple("Range", "start end name thread process kind sequence forward", defaults=(None, 0))
Source = collections.namedtuple("Source", "ops calls ranges overheads memory gpu_ranges own waits python", defaults=((),))


def ns(microseconds):
    value = Decimal(microseconds) * 1000
    whole = int(value)
    return whole + (1 if abs(value - whole) >= Decimal("0.5") else 0)


def read_json(path):
    data = path.read_bytes()
    document = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data, parse_float=str)
    events = document["traceEvents"] if isinstance(document, dict) else document
    kinds = {"kernel": "kernel", "gpu_memcpy": "copy", "gpu_memset": "set"}
    out = Source([], [], [], [], [], [], [], {}, [])
    for event in events:
        category, args = event.get("cat"), event.get("args", {})
        if event["name"] == "[memory]" and args["Device Type"] == 1:
            out.memory.append((ns(event["ts"]), args["Bytes"], args["Total Allocated"], args["Total Reserved"]))
        if event["ph"] != "X" or category is None:
            continue
        start = ns(event["ts"])
        end = start + ns(event["dur"])
        thread = (event["pid"], event["tid"])
        if category in kinds:
            out.ops.append(Op(start, end, event["name"], kinds[category], args["device"], args["stream"], 0,
                              args.get("correlation", 0), len(out.ops), args.get("bytes", 0)))
        elif category in ("cuda_runtime", "cuda_driver"):
            out.calls.append(Call(start, end, event["name"], thread, 0, args.get("correlation", 0),
                                  category == "cuda_driver"))
        elif category in ("cpu_op", "user_annotation"):
            out.ranges.append(Range(start, end, event["name"], thread, 0, category, args.get("Sequence number"),
                                    args.get("Fwd thread id")))
        elif category == "python_function":
            out.python.append(Range(start, end, event["name"], thread, 0, category))
        elif category == "gpu_user_annotation":
            out.gpu_ranges.append((event["name"], end - start))
        elif category == "overhead":
            own = re.search(r"Command Buffer|Module|Lazy Function|Driver Compiler", event["name"])
            out.own.append((start, end, 0, event["name"])) if own else out.overheads.append((start, end, 0))
    return out


def torch_operator(r):
    """A range of PyTorch's emit_nvtx is an operator: "aten::mm, seq = 3, op_id = 7"."""
    named = re.match(r"(\S*(?:::|Backward)\S*|AccumulateGrad|(?:autograd|torch)::.*?), (?:seq|op_id) = ", r.name or "")
    return r._replace(name=named.group(1), kind="cpu_op") if named else r


def read_nsys(path):
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    out = Source([], [], [], [], [], [], [], {})
    table = "CUPTI_ACTIVITY_KIND_"
    columns = "start, end, deviceId, streamId, globalPid >> 24, correlationId"
    names = {"KERNEL": "(SELECT value FROM StringIds WHERE id = demangledName)",
             "MEMCPY": "'Memcpy ' || (SELECT label FROM ENUM_CUDA_MEMCPY_OPER WHERE id = copyKind) || ' (' || "
                       "(SELECT label FROM ENUM_CUDA_MEM_KIND WHERE id = srcKind) || ' -> ' || "
                       "(SELECT label FROM ENUM_CUDA_MEM_KIND WHERE id = dstKind) || ')'", "MEMSET": "''"}
    for (what, name), kind in zip(names.items(), ("kernel", "copy", "set")):
        moved = "0" if kind == "kernel" else "bytes"
        for row in db.execute(f"SELECT {columns}, {name}, {moved} FROM {table}{what}"):
            out.ops.append(Op(row[0], row[1], row[6], kind, *row[2:6], len(out.ops), row[7]))
    for row in db.execute("SELECT start, end, value, globalTid, globalTid >> 24, correlationId "
                          f"FROM {table}RUNTIME JOIN StringIds ON id = nameId"):
        name = re.sub(r"(_ptsz|_ptds)?$", "", re.sub(r"_v\d{4,}", "", row[2]))
        out.calls.append(Call(row[0], row[1], name, *row[3:], not name.startswith("cuda")))
    for row in db.execute("SELECT start, end, coalesce(text, value), globalTid, globalTid >> 24 FROM NVTX_EVENTS "
                          "LEFT JOIN StringIds ON id = textId WHERE eventType IN (59, 60) AND end IS NOT NULL"):
        out.ranges.append(torch_operator(Range(*row, "nvtx")))
    out.overheads.extend(db.execute(f"SELECT o.start, o.end, o.globalTid >> 24 FROM {table}OVERHEAD o JOIN ENUM_CUPTI_OVERHEAD_TYPE t "
                                    "ON t.id = overheadType WHERE t.label LIKE '%(Profiler)'"))
    out.own.extend(db.execute(f"SELECT o.start, o.end, o.globalTid >> 24, value FROM {table}OVERHEAD o "
                              "JOIN ENUM_CUPTI_OVERHEAD_TYPE t ON t.id = overheadType JOIN StringIds s ON "
                              "s.id = o.nameId WHERE t.label LIKE '%Command Buffer%' OR t.label LIKE '%Module%' "
                              "OR t.label LIKE '%Lazy%'"))
    return out


def is_comm(op):
    names = "nccl|rccl|all_?reduce|all_?gather|multimem|nvshmem" if op.kind == "kernel" else "PtoP|Peer-to-Peer"
    return re.search(names, op.name, re.IGNORECASE) is not None


def is_sync(call):
    return "Synchronize" in call.name


def waits(source, launch):
    """What the host waits for in each call, by the rules of CUDA's guide."""
    out = {}
    allocations = ("cudaMalloc", "cudaFree", "cudaHost", "cuMemAlloc", "cuMemFree", "cuMemHost", "cuMemCreate",
                   "cuMemRelease", "cuMemMap", "cuMemUnmap", "cuMemSetAccess")
    modules = ("cuModuleLoad", "cuModuleUnload", "cuLibraryLoad", "cudaLibraryLoad", "cuLinkComplete")
    for call in source.calls:
        if is_sync(call):
            out[call] = "sync"
        elif call.name.startswith(allocations) and "Async" not in call.name \
                and not call.name.startswith("cudaHostGet"):
            out[call] = "allocation"
        elif call.name.startswith(modules):
            out[call] = "module_loading"
        elif re.match("(cuda|cu)Memcpy", call.name) and not re.search("Async|Peer", call.name):
            out[call] = "copy"
    for op in source.ops:
        call = launch.get(op.number)
        if op.kind != "copy" or call is None:
            continue
        blocks = "-> Pageable" in op.name or ("(Pageable" in op.name and op.bytes > 65536)
        if blocks and call not in out:
            out[call] = "copy"
        if out.get(call) == "copy" and re.search("DtoD|PtoP", op.name):
            del out[call]
    return out


def launches(source):
    """The launch call of each operation, by its number: the runtime's where the driver's has the same id."""
    by_id = {}
    for call in sorted(source.calls, key=lambda c: (c.driver, c.start, -c.end), reverse=True):
        by_id[call.process, call.correlation] = call
    return {op.number: by_id[op.process, op.correlation] for op in source.ops
            if op.correlation and (op.process, op.correlation) in by_id}


def gaps_of(ops, launch):
    """(start, end, call that launched what ends it, call that launched what came before) of each idle time of a device."""
    ordered, out, known = sorted(ops, key=lambda op: (op.start, -op.end)), [], {}
    for op in ordered:
        if op.number in launch:
            known.setdefault(op.start, launch[op.number])
    last = ordered[0]
    for op in ordered:
        if op.start > last.end:
            out.append((last.end, op.start, known.get(op.start), launch.get(last.number)))
        last = op if op.end > last.end else last
    return out


def outermost(calls):
    """Of calls of one thread those that begin in no other one."""
    out = []
    for call in sorted(calls, key=lambda c: (c.start, -c.end)):
        if not out or out[-1].end <= call.start:
            out.append(call)
    return out


def walk(ops, source=Source([], [], [], [], [], [], [], {}), launch=None, overheads=(), own=()):
    """Cuts the time at every event and adds each piece to what it is. Of `source` what the host did."""
    points = collections.defaultdict(list)
    begin, end = min(op.start for op in ops), max(op.end for op in ops)

    def add(what, start, until):
        if start < until and until > begin and start < end:
            points[start].append((what, 1))
            points[until].append((what, -1))

    for op in ops:
        add("comm" if is_comm(op) else "mem" if op.kind != "kernel" else "compute", op.start, op.end)
    gaps = gaps_of(ops, launch or {})
    for start, until, launched, _ in gaps:
        points[start], points[until]
        if launched:
            points[min(max(launched.start, start), until)]
    waiting = collections.defaultdict(list)
    for call in source.calls:
        add(("any", call.thread), call.start, call.end)
        if call in source.waits:
            waiting[call.thread].append(call)
    for thread, of_thread in waiting.items():
        for call in outermost(of_thread):
            add(("sync" if source.waits[call] == "sync" else "blocking_call", thread), call.start, call.end)
    for r in [*source.ranges, *source.python]:
        add(("any", r.thread), r.start, r.end)
    for start, until in own if source.calls else ():
        add("own", start, until)
    for start, until in overheads:
        add("overhead", start, until)
    points[begin], points[end]
    on, out, gap = collections.Counter(), collections.Counter(), 0

    def waits(call):
        return next((what for what in ("sync", "blocking_call") if call and on[what, call.thread]), None)

    def idle(now):
        _, _, launched, before = gaps[gap]
        if on["overhead"]:
            return "profiler_overhead"
        if waits(launched):
            return waits(launched)
        if on["own"]:
            return "blocking_call"
        if not launched:
            return "other"
        if now >= launched.start:
            return "kernel_wait"
        return "host_wait" if on["any", launched.thread] else waits(before) or "host_wait"

    times = sorted(points)
    for now, then in zip(times, times[1:]):
        for what, step in points[now]:
            on[what] += step
        if now < begin or then > end:
            continue
        working = [kind for kind in ("compute", "comm", "mem") if on[kind]]
        for kind in working:
            out[kind] += then - now
        if on["compute"] and on["comm"]:
            out["both"] += then - now
        if working:
            out["busy"] += then - now
            continue
        while gaps[gap][1] <= now:
            gap += 1
        out[idle(now)] += then - now
    return end - begin, out


def figures(source, launch, ops):
    """Of some operations: times of each device alone, added up; the span is that of all together."""
    devices = [figures_of_device(source, launch, [op for op in ops if op.device == device])
               for device in sorted({op.device for op in ops})]
    out = devices[0]
    for other in devices[1:]:
        out = {key: {name: value[name] + other[key][name] for name in value} if isinstance(value, dict)
               else value + other[key] for key, value in out.items()}
    return out | {"span_ns": max(op.end for op in ops) - min(op.start for op in ops),
                  "distinct_kernels": len({op.name for op in ops if op.kind == "kernel"})}


def figures_of_device(source, launch, ops):
    processes = {op.process for op in ops}
    host = source._replace(calls=[call for call in source.calls if call.process in processes])
    overheads = [(start, end) for start, end, process in source.overheads if process in processes]
    own = [(start, end) for start, end, process, _ in source.own if process in processes]
    span, out = walk(ops, host, launch, overheads, own)
    kernels = [op for op in ops if op.kind == "kernel"]
    classes = ("host_wait", "kernel_wait", "sync", "blocking_call", "profiler_overhead", "other")
    return {
        "span_ns": span, "busy_ns": out["busy"], "idle_ns": span - out["busy"],
        "compute_ns": out["compute"], "comm_ns": out["comm"], "mem_ns": out["mem"],
        "comm_overlapped_by_compute_ns": out["both"], "exposed_comm_ns": out["comm"] - out["both"],
        "kernel_sum_ns": sum(op.end - op.start for op in kernels), "kernels": len(kernels),
        "op_sum_ns": sum(op.end - op.start for op in ops), "memops": len(ops) - len(kernels),
        "comm_kernels": sum(map(is_comm, kernels)), "distinct_kernels": len({op.name for op in kernels}),
        "same_stream_overlaps": overlaps_on_streams(ops),
        "idle_by_class_ns": {name: out[name] for name in classes}}


def rank(values, percent):
    """Nearest rank: the smallest value that is not below that many percent of all."""
    return sorted(values)[max(0, -(-len(values) * percent // 100) - 1)]


def overlaps_on_streams(ops):
    last, count = {}, 0
    for op in sorted(ops, key=lambda o: (o.start, -o.end)):
        key = (op.process, op.device, op.stream)
        count += key in last and op.start < last[key]
        last[key] = max(op.end, last.get(key, op.end))
    return count


def partial_overlaps(source):
    count, stack = 0, []
    for span in sorted(source.calls + source.ranges, key=lambda s: (str(s.thread), s.start, -s.end)):
        stack = stack if stack and stack[-1].thread == span.thread else []
        while stack and stack[-1].end <= span.start:
            stack.pop()
        count += bool(stack) and stack[-1].end < span.end
        stack.append(span)
    return count


ATTENDS = "attend_compressed+attend_selected+attend_window+gate_combine"
STAGES = [(re.compile(pattern), stage) for pattern, stage in (
    (r"projections\+rope$", "project_rope"), ("pcmp_all$", "pcmp"), ("map_pcmp_to_pslc$", "pslc"),
    (r"topk\+ranges$", "topk+ranges"), (r"branch_attn\+gate$", ATTENDS),
    (r"(nsa\.sel\.ranges_v[12]|v2_run_detection|v2_scatter_reduce)$", "ranges"),
    (r"(project_rope|compress|score|pcmp|pslc|topk|ranges|attend_compressed|attend_selected|attend_window|"
     r"gate_combine|out_proj|attention|layer|model)(?=$|[/ :\[(])", None),
    (r"autograd::engine::evaluate_function|## backward", "backward"),
    ("## forward|DistributedDataParallel.forward", "forward"),
    (r"Optimizer\.(step|zero_grad)|## optimizer", "optimizer"), (r"nccl:|rccl:|c10d::", "communication"))]


def stage_of(name):
    name = re.sub("^decode/|^prefill/", "", re.sub("^nsatune/", "", name.split(", op_id")[0]))
    for pattern, stage in STAGES:
        found = pattern.match(name)
        if found:
            return stage or found.group(1)
    return None


def stages_of_calls(source):
    """The stage of each call; where it has none, what the ranges around it say of the work."""
    out, other = known_stages_of_calls(source), {}
    step_or_optimizer = [r for r in source.ranges if stage_of(r.name) == "optimizer" or is_step(r.name)]
    by_thread = collections.defaultdict(list)
    for r in sorted(source.ranges, key=lambda r: (r.start, -r.end)):
        by_thread[r.thread].append(r)
    outer = {id(r) for inner in step_or_optimizer for r in by_thread[inner.thread]
             if r.start <= inner.start and r.end >= inner.end}
    for call in sorted(source.calls, key=lambda c: c.start):
        if out.get(call) is None:
            other.setdefault(call.thread, []).append(call)
    for thread, calls in other.items():
        stack, i = [], 0
        for call in calls:
            while i < len(by_thread[thread]) and by_thread[thread][i].start <= call.start:
                r = by_thread[thread][i]
                while stack and stack[-1].end <= r.start:
                    stack.pop()
                stack.append(r)
                i += 1
            while stack and stack[-1].end <= call.start:
                stack.pop()
            found = None
            for r in stack:  # from the outside in
                if id(r) in outer:
                    continue
                if re.search("DataLoader|dataloader|data_loader|DataPipe", r.name):
                    found = "data loading"
                elif r.kind == "cpu_op":
                    found = found or "forward"
                else:
                    found = stage_of(r.name) or without_numbers(r.name)
            out[call] = found
    return out


def without_numbers(name):
    """Numbers within a word ("all2all") count nothing."""
    name = re.split(r", (?:seq|op_id|sizes) = ", name)[0][:100]
    return re.sub(r"(?<![A-Za-z0-9])[0-9]+|(?<=[A-Za-z])[0-9]+(?![A-Za-z0-9])", "N", name)


def is_step(name):
    named = re.compile(r"(training|train)?[ _]*(step|iteration|iter)[ _#:=\[]*\d+\]?$", re.IGNORECASE)
    return name.startswith("ProfilerStep#") or named.match(name) is not None


def known_stages_of_calls(source):
    """The stage of the last range to begin before each call, of those that are still open on its thread."""
    events = collections.defaultdict(list)
    by_order = inferred(source.ranges)
    ranges = [(r, by_order.get(r) or stage_of(r.name)) for r in sorted(source.ranges, key=lambda r: (r.start, -r.end))]
    for order, (r, stage) in enumerate(ranges):
        if stage:
            events[r.thread].append((r.start, 0, -order, r.end, stage))
    for call in source.calls:
        events[call.thread].append((call.start, 1, 0, 0, call))
    out = {}
    for of_thread in events.values():
        open_ranges = []
        for start, is_call, order, end, what in sorted(of_thread, key=lambda e: e[:3]):
            if not is_call:
                heapq.heappush(open_ranges, (order, end, what))
                continue
            while open_ranges and open_ranges[0][1] <= start:
                heapq.heappop(open_ranges)
            out[what] = open_ranges[0][2] if open_ranges else None
    return out


def steps_of(source):
    """(name, start, end, process) of each step."""
    marks = [r for r in source.ranges if r.name.startswith("ProfilerStep#")]
    named = re.compile(r"(training|train)?[ _]*(step|iteration|iter)[ _#:=\[]*\d+\]?$", re.IGNORECASE)
    marks = marks or [r for r in source.ranges if r.kind != "cpu_op" and named.match(r.name)]
    found = [r for r in sorted(source.ranges, key=lambda r: r.start) if r.name.startswith("Optimizer.step")]
    steps, last = [], {}
    for r in sorted(marks, key=lambda r: r.start):
        if r.start >= last.get(r.process, r.start):
            last[r.process] = r.end
            steps.append((r.name, r.start, r.end, r.process))
    for i, (name, start, end, process) in enumerate(steps):  # from begin to begin
        later = [s[1] for s in steps[i + 1:] if s[3] == process]
        steps[i] = (name, start, later[0] if later else end, process)
    for r in [] if marks else found:
        if r.name != next(f.name for f in found if f.process == r.process):
            continue
        of_process = [e for e in source.ranges + source.calls if e.process == r.process]
        before = [s for s in steps if s[3] == r.process]
        start = before[-1][2] if before else min(e.start for e in of_process)
        steps.append((f"step {len(before) + 1}", start, r.end, r.process))
    return steps
