// Ranges that are timed by events, of contexts that come, go and belong to others.
#include <pthread.h>

#include <thread>

#include "made_up_events.hpp"

using namespace nsa;
using namespace nsa::test;

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
