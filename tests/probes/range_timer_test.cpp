// Ranges that are timed by events: times, windows, captures, threads.
#include <thread>

#include "made_up_events.hpp"

using namespace nsa;
using namespace nsa::test;

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
