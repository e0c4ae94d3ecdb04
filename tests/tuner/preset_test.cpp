#include <algorithm>

#include "catch.hpp"
#include "nsa/kernels/catalog.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/tuner/plan.hpp"

using namespace nsa;
using namespace nsa::tuner;

TEST_CASE("every preset is a valid spec whose problems are all possible", "[tuner]") {
  const Backend backend = GENERATE(Backend::cpu, Backend::cuda);
  REQUIRE(preset_names() ==
          std::vector<std::string>{"quick", "ladder", "nightly", "default", "training", "full"});
  std::size_t before = 0;
  for (const std::string& name : preset_names()) {
    INFO(name);
    const SweepSpec spec = parse_sweep_spec(preset_text(name, backend).value(), name);
    CHECK(spec.name == name);
    const std::size_t problems = expand(spec).size();
    if (name == "nightly" || name == "ladder" || name == "training") continue;
    CHECK(problems > before);  // quick < default < full
    before = problems;
  }
  CHECK_FALSE(preset_text("slow", backend).has_value());
}

TEST_CASE("training has all directions but forward, and default has that alone", "[tuner]") {
  const Backend backend = GENERATE(Backend::cpu, Backend::cuda);
  const auto directions = [&](const std::string& name) {
    std::vector<std::string> all;
    for (const auto& family : parse_sweep_spec(preset_text(name, backend).value(), name).families) {
      const std::string direction(to_string(family.base.direction));
      if (std::ranges::find(all, direction) == all.end()) all.push_back(direction);
    }
    return all;
  };
  CHECK(directions("default") == std::vector<std::string>{"forward"});
  CHECK(directions("training") ==
        std::vector<std::string>{"backward", "forward_saving", "forward_backward"});
}

TEST_CASE("default is another preset for CUDA, under the same name", "[tuner]") {
  CHECK(preset_text("default", Backend::cpu) != preset_text("default", Backend::cuda));
  CHECK(preset_text("quick", Backend::cpu) == preset_text("quick", Backend::cuda));
  CHECK_FALSE(preset_text("default.cuda", Backend::cpu).has_value());
}

TEST_CASE("presets name stages and rows that exist", "[tuner]") {
  const Backend backend = GENERATE(Backend::cpu, Backend::cuda);
  for (const std::string& name : preset_names()) {
    const SweepSpec spec = parse_sweep_spec(preset_text(name, backend).value(), name);
    for (const ProblemFamily& family : spec.families) {
      CHECK_FALSE(family.stages.empty());
      for (const std::string& stage : family.stages) {
        INFO(name << "/" << family.name << "/" << stage);
        CHECK(from_string<Stage>(stage).has_value());
      }
      for (const std::string& glob : family.variants) {
        INFO(name << "/" << family.name << "/" << glob);
        CHECK(std::ranges::any_of(catalog(), [&](const Variant& row) {
          return row.backend == backend &&
                 std::ranges::any_of(ids_of(row),
                                     [&](const VariantId& id) { return matches_any({glob}, id); });
        }));
      }
    }
  }
}

TEST_CASE("presets that decide take every row that could win, by no list of names", "[tuner]") {
  const Backend backend = GENERATE(Backend::cpu, Backend::cuda);
  for (const std::string& name : preset_names()) {
    if (name == "nightly" || name == "ladder") continue;  // the same series each time
    const SweepSpec spec = parse_sweep_spec(preset_text(name, backend).value(), name);
    CHECK(spec.variants.empty());
    for (const ProblemFamily& family : spec.families) {
      INFO(name << "/" << family.name);
      CHECK(family.variants.empty());
      const bool candidates = family.roles.empty() ||
                              std::ranges::find(family.roles, "candidate") != family.roles.end();
      CHECK(candidates);
    }
  }
}
