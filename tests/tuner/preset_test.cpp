#include "catch.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/tuner/plan.hpp"

using namespace nsa;
using namespace nsa::tuner;

TEST_CASE("every preset is a valid spec whose problems are all possible", "[tuner]") {
  REQUIRE(preset_names() == std::vector<std::string>{"quick", "default", "full"});
  std::size_t before = 0;
  for (const std::string& name : preset_names()) {
    INFO(name);
    const SweepSpec spec = parse_sweep_spec(preset_text(name).value(), name);
    CHECK(spec.name == name);
    const std::size_t problems = expand(spec).size();
    CHECK(problems > before);  // quick < default < full
    before = problems;
  }
  CHECK_FALSE(preset_text("slow").has_value());
}

TEST_CASE("presets name stages that exist", "[tuner]") {
  for (const std::string& name : preset_names()) {
    const SweepSpec spec = parse_sweep_spec(preset_text(name).value(), name);
    for (const ProblemFamily& family : spec.families) {
      CHECK_FALSE(family.stages.empty());
      for (const std::string& stage : family.stages) {
        INFO(name << "/" << family.name << "/" << stage);
        CHECK(from_string<Stage>(stage).has_value());
      }
    }
  }
}
