#include "cuda/event_timer.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cpu/device.hpp"
#include "cuda/clock.hpp"
#include "cuda/nvml.hpp"
#include "nsa/probes/probes.hpp"
#include "nsa/schemas/cuda_error.hpp"
#include "nsa/schemas/median.hpp"

namespace nsa::probes {
namespace {

/// Host memory that the device reads and writes directly.
struct Mailbox {
  ClockStamp before, after;
  std::uint32_t released;
};

class Event {
 public:
  Event() { NSA_CUDA(cudaEventCreate(&event_)); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  cudaEvent_t get() const noexcept { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

class CudaTimer : public LaunchTimer {
 public:
  CudaTimer(const Device& device, CUstream_st* stream)
      : ordinal_(cuda_ordinal(device.id)), uuid_(device.uuid), stream_(stream) {
    NSA_CUDA(cudaSetDevice(ordinal_));
    int l2_bytes = 0;
    NSA_CUDA(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, ordinal_));
    flush_bytes_ = 2 * static_cast<std::size_t>(l2_bytes);
  }
  ~CudaTimer() override { cudaFree(flush_buffer_); }

  void flush_caches() override {
    if (!flush_buffer_) NSA_CUDA(cudaMalloc(&flush_buffer_, flush_bytes_));
    NSA_CUDA(cudaMemsetAsync(flush_buffer_, 0, flush_bytes_, stream_));
    NSA_CUDA(cudaStreamSynchronize(stream_));
  }

  ClockReading clocks() override { return nvml_.clocks(uuid_); }

 protected:
  int ordinal_;
  std::string uuid_;
  cudaStream_t stream_;

 private:
  std::size_t flush_bytes_ = 0;
  void* flush_buffer_ = nullptr;
  Nvml nvml_;
};

/// Device time between two events, device cycles around them, host time around the launch.
class EventTimer final : public CudaTimer {
 public:
  EventTimer(const Device& device, CUstream_st* stream, std::optional<std::uint64_t> hold_ns)
      : CudaTimer(device, stream) {
    NSA_CUDA(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, ordinal_));
    void* data = nullptr;
    NSA_CUDA(cudaHostAlloc(&data, sizeof(Mailbox), cudaHostAllocMapped));
    mailbox_ = static_cast<volatile Mailbox*>(data);
    mailbox_->released = 0;
    hold_ns_ = hold_ns ? *hold_ns : hold_of_this_host();
  }
  ~EventTimer() override { cudaFreeHost(const_cast<Mailbox*>(mailbox_)); }

  Sample time(void (*launch)(void*), void* context) override {
    NSA_CUDA(cudaStreamSynchronize(stream_));
    clear_stamps();
    auto* box = const_cast<Mailbox*>(mailbox_);
    enqueue_hold(&box->released, ++ticket_, hold_ns_, stream_);
    enqueue_stamp(&box->before, multiprocessors_, stream_);
    // Before the event: where the hold has run out, the device begins while this thread may wait
    // for a core, and a device time beyond the host's would be taken for a lie.
    Sample sample;
    sample.start_ns = monotonic_ns();
    NSA_CUDA(cudaEventRecord(start_.get(), stream_));
    launch(context);
    NSA_CUDA(cudaEventRecord(stop_.get(), stream_));
    enqueue_stamp(&box->after, multiprocessors_, stream_);
    mailbox_->released = ticket_;
    NSA_CUDA(cudaEventSynchronize(stop_.get()));
    sample.host_ns = monotonic_ns() - sample.start_ns;
    NSA_CUDA(cudaStreamSynchronize(stream_));
    float milliseconds = 0;
    NSA_CUDA(cudaEventElapsedTime(&milliseconds, start_.get(), stop_.get()));
    sample.device_ns = std::llround(static_cast<double>(milliseconds) * 1e6);
    sample.cycles = cycles();
    return sample;
  }

 private:
  /// By the median launch of an empty kernel, some of which first wake the host and the device.
  std::uint64_t hold_of_this_host() {
    constexpr int kLaunches = 48, kWarmUp = 16;
    std::vector<std::int64_t> launch_ns;
    for (int i = 0; i < kLaunches; ++i) {
      const std::int64_t begin = monotonic_ns();
      enqueue_hold(&const_cast<Mailbox*>(mailbox_)->released, 0, 0, stream_);
      if (i >= kWarmUp) launch_ns.push_back(monotonic_ns() - begin);
    }
    NSA_CUDA(cudaStreamSynchronize(stream_));
    const auto hold = static_cast<std::uint64_t>(kHoldLaunches * median(launch_ns));
    return std::clamp(hold, kLeastHoldNs, kMostHoldNs);
  }

  void clear_stamps() {
    mailbox_->before.cycles = 0;
    mailbox_->after.cycles = 0;
  }
  std::optional<std::int64_t> cycles() const {
    const auto before = mailbox_->before.cycles, after = mailbox_->after.cycles;
    if (before == 0 || after <= before) return std::nullopt;  // no block on that multiprocessor
    return static_cast<std::int64_t>(after - before);
  }

  std::uint64_t hold_ns_ = 0;
  Event start_, stop_;
  int multiprocessors_ = 0;
  volatile Mailbox* mailbox_ = nullptr;
  std::uint32_t ticket_ = 0;
};

/// Host time from an idle device to an idle device: what a caller waits for.
class CudaHostTimer final : public CudaTimer {
 public:
  using CudaTimer::CudaTimer;
  Sample time(void (*launch)(void*), void* context) override {
    NSA_CUDA(cudaStreamSynchronize(stream_));
    Sample sample;
    sample.start_ns = monotonic_ns();
    launch(context);
    NSA_CUDA(cudaStreamSynchronize(stream_));
    sample.host_ns = monotonic_ns() - sample.start_ns;
    sample.device_ns = sample.host_ns;
    return sample;
  }
};

}  // namespace

std::unique_ptr<LaunchTimer> make_cuda_timer(const Device& device, Timer timer, CUstream_st* stream,
                                             std::optional<std::uint64_t> hold_ns) {
  if (timer == Timer::host) return std::make_unique<CudaHostTimer>(device, stream);
  return std::make_unique<EventTimer>(device, stream, hold_ns);
}

}  // namespace nsa::probes
