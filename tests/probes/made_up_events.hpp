// Timing ranges by events, on a driver that is made up: its GPU gets to an event when the test
// says.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <vector>

#include "catch.hpp"
#include "inject/range_timer.hpp"
#include "spool_folder.hpp"

namespace nsa::test {

struct Event {
  bool recorded = false;
  double at_ms = 0;
  CUstream stream = nullptr;
};
inline const CUstream kTimersOwn = reinterpret_cast<CUstream>(64);

/// What the made-up driver knows. One at a time: its functions are plain functions.
struct Gpu {
  CUcontext context = reinterpret_cast<CUcontext>(16);
  unsigned long long context_id = 1;
  CUcontext primary = reinterpret_cast<CUcontext>(16);  // null: the device is not in use
  bool captures = false, is_through = true, own_is_through = true;
  std::atomic<int> retained{0}, pushed{0};
  double now_ms = 5;  // when an event is recorded, the GPU gets to it at once
  std::atomic<int> created{0};
  std::atomic<int> wrong{0};  // calls that a real driver would punish
  bool was_reset = false;
  std::function<void()> other_tool;  // what another tool does in its callback
};
inline std::optional<Gpu> gpu;
inline thread_local int relaxed = 0;  // this thread may call during captures

inline CUevent as_handle(Event* event) { return reinterpret_cast<CUevent>(event); }
inline Event& as_event(CUevent event) { return *reinterpret_cast<Event*>(event); }

inline inject::Driver made_up_driver() {
  gpu.emplace();
  inject::Driver d;
  d.current = [](CUcontext* context) {
    *context = gpu->context;
    return CUDA_SUCCESS;
  };
  d.context_id = [](CUcontext, unsigned long long* id) {
    if (gpu->retained == 0 && !gpu->context) ++gpu->wrong;  // it may be dead
    *id = gpu->context_id;
    return CUDA_SUCCESS;
  };
  d.device = [](CUdevice* device) {
    *device = 3;
    return CUDA_SUCCESS;
  };
  d.primary_state = [](CUdevice device, unsigned*, int* active) {
    if (device != 3) ++gpu->wrong;
    *active = gpu->primary ? 1 : 0;
    return CUDA_SUCCESS;
  };
  d.retain = [](CUcontext* context, CUdevice) {
    ++gpu->retained;
    *context = gpu->primary;
    return CUDA_SUCCESS;
  };
  d.release = [](CUdevice) {
    --gpu->retained;
    return CUDA_SUCCESS;
  };
  d.push = [](CUcontext) {
    ++gpu->pushed;
    return CUDA_SUCCESS;
  };
  d.pop = [](CUcontext*) {
    --gpu->pushed;
    return CUDA_SUCCESS;
  };
  d.exchange_capture_mode = [](CUstreamCaptureMode* mode) {
    relaxed += *mode == CU_STREAM_CAPTURE_MODE_RELAXED ? 1 : -1;
    *mode = *mode == CU_STREAM_CAPTURE_MODE_RELAXED ? CU_STREAM_CAPTURE_MODE_GLOBAL
                                                    : CU_STREAM_CAPTURE_MODE_RELAXED;
    return CUDA_SUCCESS;
  };
  d.create_stream = [](CUstream* stream, unsigned) {
    *stream = kTimersOwn;
    return CUDA_SUCCESS;
  };
  d.is_capturing = [](CUstream, CUstreamCaptureStatus*) {
    return gpu->captures ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
  };
  d.create_event = [](CUevent* event, unsigned) {
    ++gpu->created;
    *event = as_handle(new Event);
    return CUDA_SUCCESS;
  };
  d.record_event = [](CUevent event, CUstream stream) {
    if (gpu->captures || relaxed != 1) ++gpu->wrong;
    if (gpu->other_tool) gpu->other_tool();
    if (gpu->was_reset && stream != kTimersOwn) return CUDA_ERROR_INVALID_HANDLE;
    as_event(event) = {true, gpu->now_ms, stream};
    return CUDA_SUCCESS;
  };
  d.query_event = [](CUevent event) {
    if (!as_event(event).recorded) return CUDA_ERROR_INVALID_HANDLE;
    const bool own = as_event(event).stream == kTimersOwn;
    return (own ? gpu->own_is_through : gpu->is_through) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  };
  d.elapsed = [](float* ms, CUevent from, CUevent to) {
    *ms = static_cast<float>(as_event(to).at_ms - as_event(from).at_ms);
    return CUDA_SUCCESS;
  };
  return d;
}

/// A timer and what it wrote.
struct Timed {
  SpoolFolder folder;
  inject::SpoolFile file;
  inject::Driver driver = made_up_driver();
  inject::RangeTimer timer{file, driver};

  Timed() { REQUIRE(file.open(folder.path(), {})); }
  /// A range that takes so long on the GPU.
  void range(const char* name, double ms, bool timed = true) {
    timer.open(nullptr, name, timed);
    gpu->now_ms += ms;
    timer.close(nullptr);
  }
  template <class Record>
  std::vector<Record> written(spool::Kind kind) {
    file.flush();
    return test::records_of<Record>(file.path(), kind);
  }
  std::vector<spool::SpoolGpuRange> ranges() {
    return written<spool::SpoolGpuRange>(spool::Kind::gpu_range);
  }
  void collect() {
    timer.collect();
    CHECK(gpu->retained == 0);
    CHECK(gpu->pushed == 0);
    CHECK(gpu->wrong == 0);
    CHECK(relaxed == 0);
  }
  std::vector<spool::SpoolMarker> markers() {
    return written<spool::SpoolMarker>(spool::Kind::marker);
  }
};

}  // namespace nsa::test
