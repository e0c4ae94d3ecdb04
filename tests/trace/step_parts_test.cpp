// What the time of a step went to: parts that add up to it.
#include <map>

#include "catch.hpp"
#include "nsa/trace/step_parts.hpp"
#include "traces.hpp"

namespace nsa::test {
namespace {

using Parts = std::map<std::string, std::int64_t>;

Parts parts(const trace::StepParts& step) {
  Parts out{{"unattributed", step.unattributed_ns}, {"idle", step.idle_ns}};
  for (const trace::StagePart& part : step.stages) out[part.stage] = part.ns;
  return out;
}

std::int64_t sum(const Parts& parts) {
  std::int64_t all = 0;
  for (const auto& [name, ns] : parts) all += ns;
  return all;
}

}  // namespace

TEST_CASE("each step has the stages of what it launched, and its idle time", "[trace]") {
  const auto steps = step_parts(JsonTrace()
                                    .range("ProfilerStep#1", 0, 100)
                                    .range("score", 0, 10)
                                    .launched("a", 1, 5, 20, 4)
                                    .launched("b", 2, 15, 30, 2)  // outside of every stage
                                    .range("ProfilerStep#2", 100, 100)
                                    .range("ranges", 100, 10)
                                    .launched("c", 3, 105, 150, 8)
                                    .read());
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].name == "ProfilerStep#1");
  CHECK(parts(steps[0]) == Parts{{"score", 4000}, {"unattributed", 2000}, {"idle", 6000}});
  CHECK(steps[0].span_ns == 12000);
  CHECK(parts(steps[1]) == Parts{{"ranges", 8000}, {"unattributed", 0}, {"idle", 0}});
}

TEST_CASE("what runs at the same time counts once, communication only where it is exposed",
          "[trace]") {
  const auto steps = step_parts(JsonTrace()
                                    .range("score", 0, 10)
                                    .launched("a", 1, 2, 20, 10)
                                    .launched("other", 2, 50, 25, 10, 8)
                                    .launched("ncclDevKernel_AllReduce", 3, 60, 22, 20, 9)
                                    .read());
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].name.empty());
  const Parts found = parts(steps[0]);
  CHECK(found ==
        Parts{{"score", 10000}, {"unattributed", 5000}, {"communication", 7000}, {"idle", 0}});
  CHECK(sum(found) == steps[0].span_ns);
}

TEST_CASE("a trace of the host alone has no steps in parts", "[trace]") {
  CHECK(step_parts(JsonTrace().range("ProfilerStep#1", 0, 100).read()).empty());
}

}  // namespace nsa::test
