// A plain CUDA program for the injected tracer: it says how many operations it launched, so that
// the trace can be held against it.
//
//   traced_program [--threads 1] [--devices 1] [--steps 20] [--launches 500] [--graphs 10]
//                  [--profiler] [--blocking] [--hold-cupti] [--end HOW]
//
// HOW it ends: return, exit, _exit, kill, hang.
//
// Each thread makes `steps` steps: an NVTX range "step i" with a range "work" in it, `launches`
// kernels, one memory set and one copy. Then `graphs` replays of a graph of 5 kernels. --blocking:
// on streams that wait for the default stream. --devices: the threads take turns. --hold-cupti:
// this program is another tool that uses CUPTI.
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <cupti.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "cuda_check.hpp"

namespace {

__global__ void small_kernel(float* x) { x[threadIdx.x] += 1; }
__global__ void endless_kernel(const volatile int* stop) {
  while (*stop == 0) {
  }
}

struct Options {
  int threads = 1, devices = 1, steps = 20, launches = 500, graphs = 10;
  bool profiler = false, blocking = false, hold_cupti = false;
  std::string end = "return";
};

void steps_of_thread(const Options& o, int index) {
  check(cudaSetDevice(index % o.devices));
  cudaStream_t stream;
  float* data = nullptr;
  check(cudaStreamCreateWithFlags(&stream, o.blocking ? cudaStreamDefault : cudaStreamNonBlocking));
  check(cudaMalloc(&data, 4096));
  std::vector<float> host(1024);
  for (int step = 0; step < o.steps; ++step) {
    if (index == 0) nvtxRangePushA(("step " + std::to_string(step)).c_str());
    nvtxRangePushA("work");
    for (int i = 0; i < o.launches; ++i) small_kernel<<<1, 32, 0, stream>>>(data);
    check(cudaMemsetAsync(data, 0, 4096, stream));
    check(cudaMemcpyAsync(host.data(), data, 4096, cudaMemcpyDeviceToHost, stream));
    check(cudaStreamSynchronize(stream));
    nvtxRangePop();
    if (index == 0) nvtxRangePop();
  }
  check(cudaFree(data));
}

void replay_graphs(const Options& o) {
  if (o.graphs == 0) return;
  cudaStream_t stream;
  float* data = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  check(cudaMalloc(&data, 4096));
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < 5; ++i) small_kernel<<<1, 32, 0, stream>>>(data);
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiate(&executable, graph, 0));
  nvtxRangePushA("graphs");
  for (int i = 0; i < o.graphs; ++i) check(cudaGraphLaunch(executable, stream));
  check(cudaStreamSynchronize(stream));
  nvtxRangePop();
}

void hold_cupti() {
  void* library = nullptr;
  for (const char* name : {"libcupti.so.13", "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13"})
    if (!library) library = dlopen(name, RTLD_NOW);
  auto* subscribe =
      library ? reinterpret_cast<decltype(&cuptiSubscribe_v2)>(dlsym(library, "cuptiSubscribe_v2"))
              : nullptr;
  CUpti_SubscriberParams params{};
  params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  params.subscriberName = "another profiler";
  CUpti_SubscriberHandle subscriber = nullptr;
  const auto ignore = [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {};
  if (subscribe && subscribe(&subscriber, ignore, nullptr, &params) == CUPTI_SUCCESS) return;
  std::fprintf(stderr, "CUPTI cannot be held\n");
  std::exit(4);
}

void hang() {
  int* stop = nullptr;
  check(cudaHostAlloc(&stop, sizeof *stop, cudaHostAllocMapped));
  *stop = 0;
  nvtxRangePushA("a range that never ends");
  endless_kernel<<<1, 1>>>(stop);
  // Another thread frees it in the end, so that the device is not lost to its next user.
  std::thread([stop] {
    sleep(20);
    *stop = 1;
  }).detach();
  check(cudaDeviceSynchronize());
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const auto number = [&] { return i + 1 < argc ? std::atoi(argv[++i]) : 0; };
    if (name == "--threads") o.threads = number();
    if (name == "--devices") o.devices = number();
    if (name == "--steps") o.steps = number();
    if (name == "--launches") o.launches = number();
    if (name == "--graphs") o.graphs = number();
    if (name == "--profiler") o.profiler = true;
    if (name == "--blocking") o.blocking = true;
    if (name == "--hold-cupti") o.hold_cupti = true;
    if (name == "--end" && i + 1 < argc) o.end = argv[++i];
  }
  if (o.hold_cupti) hold_cupti();
  check(cudaFree(nullptr));
  if (o.profiler) check(cudaProfilerStart());
  std::vector<std::thread> threads;
  for (int t = 1; t < o.threads; ++t) threads.emplace_back(steps_of_thread, o, t);
  steps_of_thread(o, 0);
  for (std::thread& thread : threads) thread.join();
  if (o.profiler) check(cudaProfilerStop());
  replay_graphs(o);
  check(cudaDeviceSynchronize());
  const long long each = static_cast<long long>(o.threads) * o.steps;
  std::printf("{\"kernels\": %lld, \"copies\": %lld, \"sets\": %lld, \"graph_launches\": %d}\n",
              each * o.launches + 5LL * o.graphs, each, each, o.graphs);
  std::fflush(stdout);
  if (o.end == "hang") hang();
  if (o.end == "_exit") {
    usleep(300'000);  // over one period of the tracer: all of the above is in the spool
    _exit(7);
  }
  if (o.end == "kill") {
    usleep(300'000);
    kill(getpid(), SIGKILL);
  }
  if (o.end == "exit") std::exit(5);
  return 0;
}
