"""Traces of programs that are limited by one thing each, for make_fixtures.py."""
import json

GIB = 1 << 30


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
