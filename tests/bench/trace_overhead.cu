// What tracing adds to a launch: nothing, a bare CUPTI program, our session, interleaved in one
// process, with the same kinds and the same calls left out.
//
//   bench_trace_overhead [rounds 20] [launches 10000]
//
// Prints a line of JSON: for each, the median over the rounds of the time per launch in ns, and the
// 99.9th percentile of single launches.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "cupti/api.hpp"
#include "cupti/call_names.hpp"
#include "nsa/probes/activity.hpp"

namespace {

namespace cupti = nsa::probes::cupti;
using Clock = std::chrono::steady_clock;

__global__ void empty_kernel() {}

double since_ns(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

struct Series {
  std::vector<double> per_launch_ns, single_ns;

  void round(int launches) {
    cudaDeviceSynchronize();
    const auto start = Clock::now();
    for (int i = 0; i < launches; ++i) {
      empty_kernel<<<1, 1>>>();
      if (i % 512 == 511) cudaDeviceSynchronize();  // the queue never fills: 1024 would block
    }
    per_launch_ns.push_back(since_ns(start) / launches);
    cudaDeviceSynchronize();
    for (int i = 0; i < launches / 10; ++i) {
      const auto begin = Clock::now();
      empty_kernel<<<1, 1>>>();
      single_ns.push_back(since_ns(begin));
      if (i % 512 == 511) cudaDeviceSynchronize();
    }
    cudaDeviceSynchronize();
  }
  static double at(std::vector<double> values, double share) {
    const auto place = values.begin() +
                       static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), place, values.end());
    return *place;
  }
  void print(const char* name, const char* end) const {
    std::printf("\"%s\": {\"median_ns\": %.1f, \"p999_ns\": %.0f}%s", name, at(per_launch_ns, 0.5),
                at(single_ns, 0.999), end);
  }
};

// The bare program: the library's sample with nothing added.
std::size_t bare_records = 0;
void bare_request(std::uint8_t** buffer, std::size_t* size, std::size_t* records) {
  constexpr std::size_t kBytes = std::size_t{4} << 20;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, kBytes));
  std::memset(*buffer, 0, kBytes);
  *size = kBytes;
  *records = 0;
}
void bare_complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  CUpti_Activity* record = nullptr;
  while (cupti::shared_api().next_record(buffer, valid, &record) == CUPTI_SUCCESS) ++bare_records;
  std::free(buffer);
}

class Bare {
 public:
  Bare() {
    api_.subscribe(
        &subscriber_, [](void*, auto, auto, const void*) {}, nullptr, nullptr);
    api_.register_callbacks(bare_request, bare_complete);
    for (const auto kind : kKinds) api_.enable(kind);
    for (const auto domain : {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_DRIVER_API}) {
      const auto enable = domain == CUPTI_CB_DOMAIN_RUNTIME_API ? api_.enable_runtime_call
                                                                : api_.enable_driver_call;
      const char* name = nullptr;
      for (CUpti_CallbackId id = 1; api_.callback_name(domain, id, &name) == CUPTI_SUCCESS && name;
           ++id)
        if (cupti::is_noise_call(cupti::plain_call_name(name))) enable(id, 0);
    }
  }
  ~Bare() {
    for (const auto kind : kKinds) api_.disable(kind);
    api_.flush_all(1);
    api_.unsubscribe(subscriber_);
  }

 private:
  static constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                                  CUPTI_ACTIVITY_KIND_RUNTIME,
                                                  CUPTI_ACTIVITY_KIND_DRIVER};
  const cupti::Api& api_ = cupti::shared_api();
  CUpti_SubscriberHandle subscriber_ = nullptr;
};

nsa::probes::ActivityOptions same_kinds() {
  nsa::probes::ActivityOptions options;
  options.copies = options.synchronisation = options.memory = options.overhead = false;
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 20;
  const int launches = argc > 2 ? std::atoi(argv[2]) : 10000;
  if (cudaFree(nullptr) != cudaSuccess || !nsa::probes::activity_missing().empty()) {
    std::fprintf(stderr, "no device, or no CUPTI: %s\n", nsa::probes::activity_missing().c_str());
    return 4;
  }
  Series off, bare, ours, after;
  std::size_t recorded = 0;
  for (int i = 0; i < rounds; ++i) {
    off.round(launches);
    for (int turn = 0; turn < 2; ++turn) {  // bare, ours, then ours, bare
      if ((turn + i) % 2 == 0) {
        const Bare tracer;
        bare.round(launches);
      } else {
        nsa::probes::ActivitySession session(same_kinds());
        ours.round(launches);
        recorded += session.take().kernels.size();
      }
    }
    after.round(launches);
  }
  std::printf("{\"rounds\": %d, \"launches\": %d, ", rounds, launches);
  off.print("off", ", ");
  bare.print("bare", ", ");
  ours.print("ours", ", ");
  after.print("after", ", ");
  std::printf("\"our_kernels\": %zu, \"bare_records\": %zu}\n", recorded, bare_records);
  return 0;
}
