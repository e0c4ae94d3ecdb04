// Timing ranges by events, on a driver that is made up: its GPU gets to an event when the test
// says.
#include "inject/range_timer.hpp"

#include <pthread.h>

#include <atomic>
#include <functional>
#include <optional>
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
  CUstream stream = nullptr;
};
const CUstream kTimersOwn = reinterpret_cast<CUstream>(64);

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
std::optional<Gpu> gpu;
thread_local int relaxed = 0;  // this thread may call during captures

CUevent as_handle(Event* event) { return reinterpret_cast<CUevent>(event); }
Event& as_event(CUevent event) { return *reinterpret_cast<Event*>(event); }

inject::Driver made_up_driver() {
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
  RangeTimer timer{file, driver};

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

}  // namespace

TEST_CASE("ranges are timed by two events, nested ones each, on the host's time line", "[probes]") {
  Timed t;
  t.timer.open(nullptr, "step 0", true);
  t.range("work", 2);
  t.range("work", 3);
  gpu->now_ms += 10;
  t.timer.close(nullptr);
  CHECK(t.ranges().empty());
  t.collect();
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
  t.range("work", 1);  // events are used again, but for the one of our own stream
  CHECK(gpu->created == 7);
}

TEST_CASE("what the GPU is not through with waits, also where it does not get to our own stream",
          "[probes]") {
  Timed t;
  t.range("work", 2);
  SECTION("the program's") { gpu->is_through = false; }
  SECTION("ours") { gpu->own_is_through = false; }
  CHECK(t.timer.collect() == 1);
  CHECK(t.ranges().empty());
  gpu->is_through = gpu->own_is_through = true;
  CHECK(t.timer.collect() == 0);
  CHECK(t.ranges().size() == 1);
  CHECK(t.timer.left_out() == 0);
}

TEST_CASE("ranges outside of the window and ends without a begin leave nothing", "[probes]") {
  Timed t;
  t.timer.close(nullptr);
  t.timer.open(nullptr, "skipped", false);
  t.range("work", 2);
  t.timer.close(nullptr);
  t.timer.close(nullptr);
  t.collect();
  CHECK(t.ranges().size() == 1);
  CHECK(t.markers().size() == 2);
}

TEST_CASE("a capture is not disturbed, and ranges in it are counted", "[probes]") {
  Timed t;
  gpu->captures = true;
  t.range("captured", 2);
  t.timer.open(nullptr, "ends in a capture", true);
  gpu->captures = false;
  t.timer.open(nullptr, "begins outside", true);
  gpu->captures = true;
  t.timer.close(nullptr);
  t.timer.close(nullptr);
  gpu->captures = false;
  t.range("behind", 2);
  t.collect();
  REQUIRE(t.ranges().size() == 1);
  CHECK(t.file.text_of(t.ranges()[0].name) == "behind");
  CHECK(t.timer.left_out() == 3);
  CHECK(t.markers().size() == 8);  // on the host all are there
}

TEST_CASE("ranges of a context that is gone, or without one, have no time", "[probes]") {
  Timed t;
  t.range("before", 2);
  gpu->primary = gpu->context = nullptr;
  t.collect();
  CHECK(t.ranges().empty());
  CHECK(t.timer.left_out() == 1);
  gpu->primary = gpu->context = reinterpret_cast<CUcontext>(16);
  gpu->context_id = 2;  // at the same address
  t.range("of the next", 4);
  t.timer.open(nullptr, "over a change", true);
  gpu->context_id = 3;
  t.timer.close(nullptr);
  gpu->context_id = 2;
  gpu->context = nullptr;
  t.range("of the host alone", 1);
  t.timer.open(nullptr, "before the first call of CUDA", true);
  gpu->context = gpu->primary;
  t.timer.close(nullptr);
  t.collect();
  REQUIRE(t.ranges().size() == 1);
  CHECK(t.file.text_of(t.ranges()[0].name) == "of the next");
  CHECK(t.timer.left_out() == 3);
}

TEST_CASE("contexts that the program made itself are left alone", "[probes]") {
  Timed t;
  gpu->context = reinterpret_cast<CUcontext>(32);
  t.range("in its own", 2);
  CHECK(gpu->created == 0);
  t.collect();
  CHECK(t.timer.left_out() == 1);
}

TEST_CASE("events that a reset of the device left behind are not used again", "[probes]") {
  Timed t;
  t.range("before", 2);
  t.collect();
  gpu->was_reset = true;
  for (int i = 0; i < 10; ++i) t.range("behind", 2);
  CHECK(gpu->created == 3);
  t.collect();
  CHECK(t.ranges().size() == 1);
  CHECK(t.timer.left_out() == 10);
}

TEST_CASE("ranges of the tool that holds CUPTI, within our calls, are not the program's",
          "[probes]") {
  Timed t;
  gpu->other_tool = [&t] {
    t.timer.open(nullptr, "of the tool", true);
    t.timer.close(nullptr);
  };
  t.range("work", 2);
  gpu->other_tool = nullptr;
  t.collect();
  REQUIRE(t.ranges().size() == 1);
  CHECK(t.file.text_of(t.ranges()[0].name) == "work");
  CHECK(t.markers().size() == 2);
}

TEST_CASE("functions that the driver calls on a thread of its own are not timed", "[probes]") {
  Timed t;
  std::thread([&] {
    pthread_setname_np(pthread_self(), "cuda00001400006");
    t.range("host function", 2);
  }).join();
  t.collect();
  CHECK(t.ranges().empty());
  CHECK(t.timer.left_out() == 0);
}

TEST_CASE("a domain's end closes a range of that domain", "[probes]") {
  Timed t;
  const int nccl = 0;
  t.timer.open(nullptr, "outer", true);
  t.timer.open(&nccl, "of NCCL", true);
  gpu->now_ms += 1;
  t.timer.close(nullptr);
  gpu->now_ms += 1;
  t.timer.close(&nccl);
  t.collect();
  const auto ranges = t.ranges();
  REQUIRE(ranges.size() == 2);
  CHECK(t.file.text_of(ranges[0].name) == "outer");
  CHECK(ranges[0].end_ns - ranges[0].start_ns == 1'000'000);
  CHECK(ranges[1].end_ns - ranges[1].start_ns == 2'000'000);
}

TEST_CASE("threads time ranges while another collects, and none is lost", "[probes]") {
  Timed t;
  constexpr int kThreads = 4, kEach = 500;
  std::atomic<int> at_work{kThreads};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (int n = 0; n < kEach; ++n) {
        t.timer.open(nullptr, "outer", true);
        t.timer.open(nullptr, "inner", true);
        t.timer.close(nullptr);
        t.timer.close(nullptr);
      }
      --at_work;
    });
  while (at_work > 0) t.timer.collect();
  for (std::thread& thread : threads) thread.join();
  t.collect();
  CHECK(t.ranges().size() == 2 * kThreads * kEach);
  CHECK(t.markers().size() == 4 * kThreads * kEach);
  CHECK(t.timer.left_out() == 0);
}

TEST_CASE("what never ends is given up and counted", "[probes]") {
  Timed t;
  gpu->is_through = false;
  t.range("work", 2);
  CHECK(t.timer.collect() == 1);
  t.timer.give_up();
  CHECK(t.timer.left_out() == 1);
  CHECK(t.timer.collect() == 0);
}

TEST_CASE("each thread closes its own ranges", "[probes]") {
  Timed t;
  t.timer.open(nullptr, "here", true);
  std::thread([&] {
    t.timer.close(nullptr);
    t.range("there", 2);
  }).join();
  gpu->now_ms += 1;
  t.timer.close(nullptr);
  t.collect();
  const auto ranges = t.ranges();
  REQUIRE(ranges.size() == 2);
  CHECK(ranges[0].thread != ranges[1].thread);
  CHECK(ranges[1].end_ns - ranges[1].start_ns == 3'000'000);
}
