#include "cuda/event_timer.hpp"

#include <cuda_runtime_api.h>

#include <vector>

#include "cpu/device.hpp"
#include "cuda/clock.hpp"
#include "nsa/probes/launch_trace.hpp"
#include "nsa/schemas/cuda_error.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/median.hpp"

namespace nsa::probes {
namespace {

/// A launch call takes longer while CUPTI records. Here events say what lies between the first
/// start and the last end, which CUPTI says too, so the host's share has to stay out of them.
constexpr std::uint64_t kTracedHoldNs = 200'000;

/// One session serves all timers of the process, and is ended with the last of them.
std::shared_ptr<ActivitySession> shared_session() {
  static std::weak_ptr<ActivitySession> known;
  auto session = known.lock();
  if (!session) known = session = std::make_shared<ActivitySession>();
  return session;
}

/// The kernel that ends at once; `box` is host memory of zero.
struct EmptyLaunch {
  const std::uint32_t* box;
  cudaStream_t stream;
  static void launch(void* self) {
    const auto* launch = static_cast<EmptyLaunch*>(self);
    enqueue_hold(launch->box, 0, 0, launch->stream);
  }
};

class CuptiTimer final : public LaunchTimer {
 public:
  CuptiTimer(const Device& device, CUstream_st* stream)
      : stream_(stream),
        events_(make_cuda_timer(device, Timer::events, stream, kTracedHoldNs)),
        session_(shared_session()) {
    find_offset();
  }

  void flush_caches() override { events_->flush_caches(); }
  ClockReading clocks() override { return events_->clocks(); }

  Sample time(void (*launch)(void*), void* context) override {
    Sample sample = events_->time(launch, context);
    by_events_.push_back(static_cast<double>(sample.device_ns));
    const ActivityTrace activity = session_->take();  // the device is idle
    if (activity.totals.dropped > dropped_)
      throw EnvironmentError("CUPTI dropped records of a timed launch");
    const LaunchTrace seen = launch_trace(activity, sample.start_ns, sample.start_ns);
    sample.device_ns = seen.busy_ns;
    by_cupti_.push_back(static_cast<double>(seen.busy_ns));
    spans_.push_back(static_cast<double>(seen.span_ns));
    return sample;
  }

  /// Both clocks on the same stretch: from the first start to the last end of the launch. What lies
  /// between its kernels is in it, and not in the device time that is reported.
  std::string take_note() override {
    if (by_cupti_.empty()) return {};
    const std::string note = timer_disagreement(median(spans_), median(by_events_) - offset_ns_);
    by_cupti_.clear();
    by_events_.clear();
    spans_.clear();
    return note;
  }
  double cupti_ns() const { return median(by_cupti_); }
  double events_ns() const { return median(by_events_); }

 private:
  /// What two events around a kernel count beside it, while CUPTI records: microseconds.
  void find_offset() {
    constexpr int kTimes = 9;
    void* box = nullptr;
    NSA_CUDA(cudaHostAlloc(&box, sizeof(std::uint32_t), cudaHostAllocMapped));
    *static_cast<std::uint32_t*>(box) = 0;
    EmptyLaunch empty{static_cast<const std::uint32_t*>(box), stream_};
    std::vector<double> offsets;
    for (int i = 0; i < kTimes; ++i) {
      const Sample sample = events_->time(&EmptyLaunch::launch, &empty);
      const ActivityTrace activity = session_->take();
      const spool::SpoolKernel* last = nullptr;  // before it the hold, after it a stamp
      for (const spool::SpoolKernel& kernel : activity.kernels) {
        const bool hold = activity.texts.at(kernel.name).find("hold_kernel") != std::string::npos;
        if (hold && (!last || kernel.start_ns > last->start_ns)) last = &kernel;
      }
      if (last)
        offsets.push_back(static_cast<double>(sample.device_ns - last->end_ns + last->start_ns));
    }
    cudaFreeHost(box);
    if (!offsets.empty()) offset_ns_ = median(offsets);
  }

  cudaStream_t stream_;
  std::unique_ptr<LaunchTimer> events_;
  std::shared_ptr<ActivitySession> session_;
  std::vector<double> by_cupti_, by_events_, spans_;
  double offset_ns_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace

std::unique_ptr<LaunchTimer> make_cupti_timer(const Device& device, CUstream_st* stream) {
  std::shared_ptr<ActivitySession> session;  // held, so that the timer gets the same
  try {
    session = shared_session();
  } catch (const EnvironmentError& error) {
    throw EnvironmentError(std::string(error.what()) + "; the timer \"events\" needs no CUPTI");
  }
  return std::make_unique<CuptiTimer>(device, stream);
}

LaunchTrace trace_launch(const Device& device, CUstream_st* stream, int samples,
                         void (*launch)(void*), void* context) {
  if (device.backend != Backend::cuda)
    throw InputError("a launch is traced through CUPTI, which " + device.id + " has not");
  CuptiTimer timer(device, stream);
  const auto session = shared_session();
  launch(context);  // what the first launch under a tracer costs is not the launch's
  NSA_CUDA(cudaStreamSynchronize(stream));
  session->take();
  const std::int64_t from_ns = monotonic_ns();
  launch(context);
  const std::int64_t until_ns = monotonic_ns();
  NSA_CUDA(cudaStreamSynchronize(stream));
  LaunchTrace trace = launch_trace(session->take(), from_ns, until_ns);
  for (int i = 0; i < samples; ++i) {
    timer.flush_caches();
    timer.time(launch, context);
  }
  if (samples > 0) {
    trace.cupti_ns = timer.cupti_ns();
    trace.events_ns = timer.events_ns();
    trace.note = timer.take_note();
  }
  return trace;
}

}  // namespace nsa::probes
