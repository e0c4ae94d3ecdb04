// Timing ranges by events, on a driver that is made up: its GPU gets to an event when the test
// says.
#include "inject/range_timer.hpp"

#include <algorithm>
#include <thread>

#include "catch.hpp"
#include "spool_folder.hpp"

using namespace nsa;
using inject::RangeTimer;
using test::SpoolFolder;

namespace {

struct Event {
  bool recorded = false;
  double at_ms = 0;
};

/// What the made-up driver knows. One at a time: its functions are plain functions.
struct Gpu {
  CUcontext context = reinterpret_cast<CUcontext>(16);
  unsigned long long context_id = 1;
  bool context_lives = true, captures = false, is_through = true;
  double now_ms = 5;  // when an event is recorded, the GPU gets to it at once
  int created = 0;
  int relaxed = 0;  // threads that may call during captures
} gpu;

CUevent as_handle(Event* event) { return reinterpret_cast<CUevent>(event); }
Event& as_event(CUevent event) { return *reinterpret_cast<Event*>(event); }

inject::Driver made_up_driver() {
  gpu = {};
  inject::Driver d;
  d.current = [](CUcontext* context) {
    *context = gpu.context;
    return CUDA_SUCCESS;
  };
  d.context_id = [](CUcontext, unsigned long long* id) {
    *id = gpu.context_id;
    return gpu.context_lives ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
  };
  d.device = [](CUdevice* device) {
    *device = 3;
    return CUDA_SUCCESS;
  };
  d.device_name = [](char* name, int length, CUdevice) {
    std::snprintf(name, static_cast<std::size_t>(length), "Made-up GPU");
    return CUDA_SUCCESS;
  };
  d.device_uuid = [](CUuuid* uuid, CUdevice) {
    *uuid = {};
    return CUDA_SUCCESS;
  };
  d.push = [](CUcontext) { return CUDA_SUCCESS; };
  d.pop = [](CUcontext*) { return CUDA_SUCCESS; };
  d.exchange_capture_mode = [](CUstreamCaptureMode* mode) {
    gpu.relaxed += *mode == CU_STREAM_CAPTURE_MODE_RELAXED ? 1 : -1;
    *mode = *mode == CU_STREAM_CAPTURE_MODE_RELAXED ? CU_STREAM_CAPTURE_MODE_GLOBAL
                                                    : CU_STREAM_CAPTURE_MODE_RELAXED;
    return CUDA_SUCCESS;
  };
  d.create_stream = [](CUstream* stream, unsigned) {
    *stream = reinterpret_cast<CUstream>(8);
    return CUDA_SUCCESS;
  };
  d.is_capturing = [](CUstream, CUstreamCaptureStatus*) {
    return gpu.captures ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
  };
  d.create_event = [](CUevent* event, unsigned) {
    ++gpu.created;
    *event = as_handle(new Event);
    return CUDA_SUCCESS;
  };
  d.record_event = [](CUevent event, CUstream) {
    CHECK_FALSE(gpu.captures);
    CHECK(gpu.relaxed == 1);
    as_event(event) = {true, gpu.now_ms};
    return CUDA_SUCCESS;
  };
  d.query_event = [](CUevent event) {
    CHECK(as_event(event).recorded);
    return gpu.is_through ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  };
  d.wait_for_event = [](CUevent) { return CUDA_SUCCESS; };
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
  RangeTimer timer{file, driver};

  Timed() { REQUIRE(file.open(folder.path(), {})); }
  /// A range that takes so long on the GPU.
  void range(const char* name, double ms, bool timed = true) {
    timer.open(name, timed);
    gpu.now_ms += ms;
    timer.close();
  }
  template <class Record>
  std::vector<Record> written(spool::Kind kind) {
    file.flush();
    return test::records_of<Record>(file.path(), kind);
  }
  std::vector<spool::SpoolGpuRange> ranges() {
    return written<spool::SpoolGpuRange>(spool::Kind::gpu_range);
  }
  std::vector<spool::SpoolMarker> markers() {
    return written<spool::SpoolMarker>(spool::Kind::marker);
  }
};

}  // namespace

TEST_CASE("ranges are timed by two events, nested ones each, on the host's time line", "[probes]") {
  Timed t;
  t.timer.open("step 0", true);
  t.range("work", 2);
  t.range("work", 3);
  gpu.now_ms += 10;
  t.timer.close();
  CHECK(t.ranges().empty());
  t.timer.collect();
  const std::int64_t now = inject::monotonic_now_ns();
  const auto ranges = t.ranges();
  REQUIRE(ranges.size() == 3);
  CHECK(ranges[0].end_ns - ranges[0].start_ns == 2'000'000);
  CHECK(ranges[1].end_ns - ranges[1].start_ns == 3'000'000);
  CHECK(ranges[2].end_ns - ranges[2].start_ns == 15'000'000);
  CHECK(ranges[1].start_ns == ranges[0].end_ns);
  CHECK(ranges[0].device == 3);
  CHECK(t.file.text_of(ranges[2].name) == "step 0");
  // The GPU stood at the last event when it was asked.
  CHECK(ranges[2].end_ns <= now);
  CHECK(ranges[2].end_ns > now - 1'000'000'000);
  CHECK(t.markers().size() == 6);
  const auto devices = t.written<spool::SpoolDevice>(spool::Kind::device);
  REQUIRE(devices.size() == 1);
  CHECK(t.file.text_of(devices[0].uuid) == "GPU-00000000-0000-0000-0000-000000000000");
  CHECK(gpu.relaxed == 0);
  t.range("work", 1);  // events are used again, but for the one of our own stream
  CHECK(gpu.created == 7);
}

TEST_CASE("what the GPU is not through with waits", "[probes]") {
  Timed t;
  gpu.is_through = false;
  t.range("work", 2);
  t.timer.collect();
  CHECK(t.ranges().empty());
  gpu.is_through = true;
  t.timer.collect();
  CHECK(t.ranges().size() == 1);
  t.timer.collect();
  CHECK(t.ranges().size() == 1);
  CHECK(t.timer.left_out() == 0);
}

TEST_CASE("ranges outside of the window and ends without a begin leave nothing", "[probes]") {
  Timed t;
  t.timer.close();
  t.timer.open("skipped", false);
  t.range("work", 2);
  t.timer.close();
  t.timer.close();
  t.timer.collect();
  CHECK(t.ranges().size() == 1);
  CHECK(t.markers().size() == 2);
}

TEST_CASE("a capture is not disturbed, and ranges in it are counted", "[probes]") {
  Timed t;
  gpu.captures = true;
  t.range("captured", 2);
  t.timer.open("ends in a capture", true);
  gpu.captures = false;
  t.timer.open("begins outside", true);
  gpu.captures = true;
  t.timer.close();
  t.timer.close();
  gpu.captures = false;
  t.range("behind", 2);
  t.timer.collect();
  REQUIRE(t.ranges().size() == 1);
  CHECK(t.file.text_of(t.ranges()[0].name) == "behind");
  CHECK(t.timer.left_out() == 3);
  CHECK(t.markers().size() == 8);  // on the host all are there
}

TEST_CASE("ranges of a context that is gone, or without one, have no time", "[probes]") {
  Timed t;
  t.range("before", 2);
  gpu.context_lives = false;
  t.timer.collect();
  CHECK(t.ranges().empty());
  CHECK(t.timer.left_out() == 1);
  gpu.context_lives = true;
  gpu.context_id = 2;  // at the same address
  t.range("of the next", 4);
  t.timer.open("over a change", true);
  gpu.context_id = 3;
  t.timer.close();
  gpu.context_id = 2;
  gpu.context = nullptr;
  t.range("of the host alone", 1);
  t.timer.collect();
  REQUIRE(t.ranges().size() == 1);
  CHECK(t.file.text_of(t.ranges()[0].name) == "of the next");
  CHECK(t.timer.left_out() == 2);
}

TEST_CASE("each thread closes its own ranges", "[probes]") {
  Timed t;
  t.timer.open("here", true);
  std::thread([&] {
    t.timer.close();
    t.range("there", 2);
  }).join();
  gpu.now_ms += 1;
  t.timer.close();
  t.timer.collect();
  const auto ranges = t.ranges();
  REQUIRE(ranges.size() == 2);
  CHECK(ranges[0].thread != ranges[1].thread);
  CHECK(ranges[1].end_ns - ranges[1].start_ns == 3'000'000);
}
