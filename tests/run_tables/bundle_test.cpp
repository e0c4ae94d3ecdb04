#include "nsa/run_tables/bundle.hpp"

#include "catch.hpp"
#include "cells.hpp"

namespace nsa::test {
namespace {

using namespace run_tables;

Json event(const char* stage, const char* variant, double begin_us, double us) {
  return {{"name", stage}, {"ts", begin_us}, {"dur", us}, {"args", {{"variant", variant}}}};
}

Bundle bundle_of(Cell a, Cell b) {
  a.ran = {{"attend_selected", "masked"}, {"attend_window", "fused"}};
  b.ran = {{"attend_selected", "fused_query"}, {"attend_window", "fused"}};
  a.asked.variables = {{"NSA_FORCE_SEL_MASK", "1"}};
  return {{}, {a, {}, "why"}, {b, {}, "why"}, {{"attend_selected/fused_query", "Walks blocks."}}};
}

}  // namespace

TEST_CASE("the time of a stage is without the stages inside of it", "[reports]") {
  const Json trace{{"traceEvents",
                    {event("model", "batched", 0, 100), event("attend_window", "fused", 10, 30),
                     event("attend_window", "fused", 40, 20), event("model", "batched", 200, 50)}}};
  const auto times = stage_times(trace);
  REQUIRE(times.size() == 2);
  CHECK(times[0].stage == "model");
  CHECK(times[0].calls == 2);
  CHECK(times[0].self_us == Approx(100));
  CHECK(times[1].self_us == Approx(50));
  CHECK(times[1].calls == 2);
}

TEST_CASE("the note names what one setting runs and the other does not", "[reports]") {
  const std::string note =
      design_note_markdown(bundle_of(cell_of("A", {2, 2}), cell_of("B", {1, 1})));
  CHECK(note.find("`attend_selected/fused_query`: Walks blocks.") != std::string::npos);
  CHECK(note.find("attend_window") == std::string::npos);
  CHECK(note.find("B is 2x [2, 2] as fast as A") != std::string::npos);
}

TEST_CASE("a bundle without a trace says why", "[reports]") {
  const Bundle bundle = bundle_of(cell_of("A", {2, 2}), cell_of("B", {1, 1}));
  CHECK(before_after_markdown(bundle).find("No wall times by stage: why") != std::string::npos);
}

TEST_CASE("a runbook says how to run the new setting, the old one, and the bundle again",
          "[reports]") {
  const Bundle bundle = bundle_of(cell_of("A", {2, 2}), cell_of("B", {1, 1}));
  const std::string book = runbook_markdown(bundle, {"run a", "run b", "both again"});
  const auto at = [&](const char* text) {
    return book.find(std::string("```\n") + text + "\n```");
  };
  REQUIRE(at("both again") != std::string::npos);
  CHECK(at("run b") < at("run a"));
  CHECK(at("run a") < at("both again"));
}

}  // namespace nsa::test
