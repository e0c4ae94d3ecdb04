// A program whose kernels take a time that the caller chooses, for what_if_on_device.py: what a
// trace says of a kernel that took no time is held against the program without its time.
//
//   what_if_program --form FORM [--first US] [--second US] [--third US] [--host US] [--steps 50]
//
// FORM of a step, in which each kernel is one thread that looks at the clock:
//   chain   first, second and third in one stream
//   join    first and second in two streams, third when both have ended
//   late    as chain, and the host works for --host before it launches second
//   waits   as chain, and the host waits for the stream before it launches third
// After all steps it waits for the device. It prints its time in JSON. --profiler-api of trace
// record leaves the start of the program and its first launches out.
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cuda_check.hpp"

namespace {

// Asked for 0 ns, a kernel does not look at the clock, whose ticks are up to a microsecond long.
__device__ void wait_ns(long long ns) {
  if (ns == 0) return;
  long long begin, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  while (now - begin < ns);
}
__global__ void first(long long ns) { wait_ns(ns); }
__global__ void second(long long ns) { wait_ns(ns); }
__global__ void third(long long ns) { wait_ns(ns); }

using Kernel = void (*)(long long);
using Clock = std::chrono::steady_clock;

struct Options {
  std::string form = "chain";
  long long first = 300, second = 200, third = 100, host = 0, steps = 50;
};

[[noreturn]] void refuse(const char* argument) {
  std::fprintf(stderr, "what_if_program: %s: see the head of what_if_program.cu\n", argument);
  std::exit(2);
}

Options read(int count, char** words) {
  Options o;
  for (int i = 1; i < count; i += 2) {
    const std::string_view name = words[i];
    if (i + 1 == count) refuse(words[i]);
    if (name == "--form") {
      o.form = words[i + 1];
      continue;
    }
    long long& number = name == "--first"    ? o.first
                        : name == "--second" ? o.second
                        : name == "--third"  ? o.third
                        : name == "--host"   ? o.host
                        : name == "--steps"  ? o.steps
                                             : (refuse(words[i]), o.steps);
    number = std::atoll(words[i + 1]);
  }
  if (o.form != "chain" && o.form != "join" && o.form != "late" && o.form != "waits")
    refuse(o.form.c_str());
  return o;
}

struct Streams {
  cudaStream_t one = nullptr, two = nullptr;
  cudaEvent_t begun = nullptr, ended = nullptr;
  Streams() {
    check(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    check(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
    check(cudaEventCreateWithFlags(&begun, cudaEventDisableTiming));
    check(cudaEventCreateWithFlags(&ended, cudaEventDisableTiming));
  }
};

void launch(Kernel kernel, long long us, cudaStream_t stream) {
  kernel<<<1, 1, 0, stream>>>(us * 1000);
  check(cudaGetLastError());
}

void work_on_host(long long us) {
  const auto end = Clock::now() + std::chrono::microseconds(us);
  while (Clock::now() < end) {
  }
}

void step(const Options& o, const Streams& s) {
  const bool join = o.form == "join";
  if (join) {
    check(cudaEventRecord(s.begun, s.one));
    check(cudaStreamWaitEvent(s.two, s.begun));
  }
  launch(first, o.first, s.one);
  if (o.form == "late") work_on_host(o.host);
  launch(second, o.second, join ? s.two : s.one);
  if (join) {
    check(cudaEventRecord(s.ended, s.two));
    check(cudaStreamWaitEvent(s.one, s.ended));
  }
  if (o.form == "waits") check(cudaStreamSynchronize(s.one));
  launch(third, o.third, s.one);
}

}  // namespace

int main(int count, char** words) {
  const Options o = read(count, words);
  const Streams s;
  for (int i = 0; i < 3; ++i) step(o, s);  // loads the kernels
  check(cudaDeviceSynchronize());
  check(cudaProfilerStart());  // what comes before is no step
  const auto begin = Clock::now();
  for (long long i = 0; i < o.steps; ++i) step(o, s);
  check(cudaDeviceSynchronize());
  const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
  check(cudaProfilerStop());
  std::printf("{\"steps\": %lld, \"us_a_step\": %.3f}\n", o.steps,
              took.count() / static_cast<double>(o.steps));
}
