#include "nsa/probes/activity.hpp"

#include <chrono>

#include "catch.hpp"
#include "nsa/probes/probes.hpp"
#include "nsa/schemas/error.hpp"

using namespace nsa;
using namespace nsa::probes;

TEST_CASE("without a device a session says in one line why there is none, each time", "[probes]") {
  if (devices().size() > 1) {
    WARN("skipped: there is a CUDA device");
    return;
  }
  for (int i = 0; i < 3; ++i) {
    try {
      const ActivitySession session;
      FAIL("a session without a device");
    } catch (const EnvironmentError& error) {
      CHECK(std::string(error.what()).find('\n') == std::string::npos);
      CHECK(std::string(error.what()).size() > 10);
    }
  }
}

TEST_CASE("asking again whether CUPTI is here costs nothing", "[probes]") {
  const std::string first = activity_missing();
  const auto start = std::chrono::steady_clock::now();
  constexpr int kTimes = 1000;
  bool same = true;
  for (int i = 0; i < kTimes; ++i) same = same && activity_missing() == first;
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  CHECK(same);
  CHECK(took.count() / kTimes < 5);  // opening the library takes a hundred times that
}
