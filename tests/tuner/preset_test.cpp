#include <algorithm>

#include "catch.hpp"
#include "nsa/kernels/catalog.hpp"
#include "nsa/kernels/directions.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/tuner/plan.hpp"

using namespace nsa;
using namespace nsa::tuner;

namespace {

std::vector<Candidate> candidates_of(Backend backend) {
  std::vector<Candidate> all;
  for (const Variant& row : catalog()) {
    if (row.backend != backend) continue;
    for (const Direction direction : directions_of(row)) {
      for (const VariantId& id : ids_of(row)) {
        Candidate candidate;
        candidate.id = id;
        candidate.direction = direction;
        all.push_back(std::move(candidate));
      }
    }
  }
  return all;
}

/// By the table alone, without a worker.
Description described(void* device, const Problem& problem, const Candidate& candidate) {
  const Device& on = *static_cast<const Device*>(device);
  const Variant* row = find_variant(candidate.id, on.backend, candidate.direction);
  Description description;
  description.supported = row && supports(*row, problem, on).supported;
  if (!description.supported) return description;
  const Cost cost = row->cost(problem);
  description.flop = cost.flop;
  description.bytes = cost.bytes;
  return description;
}

Plan plan_of(const std::string& preset, Device device) {
  const SweepSpec spec = parse_sweep_spec(preset_text(preset, device.backend).value(), preset);
  return make_plan(spec, device, candidates_of(device.backend), &described, &device);
}

}  // namespace

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

TEST_CASE("full ends within a night on two CPU cores, and leaves nothing out on an H200",
          "[tuner]") {
  Device cores;
  cores.backend = Backend::cpu;
  cores.multiprocessors = 2;
  const Plan on_cores = plan_of("full", cores);
  CHECK(on_cores.estimated_s < 6 * 3600);  // and what is added between lengths
  CHECK(on_cores.contests.size() > 5 * on_cores.left_out.size());
  Device gpu;
  gpu.backend = Backend::cuda;
  gpu.name = "NVIDIA H200";
  gpu.compute_capability = 90;
  gpu.multiprocessors = 132;
  const Plan on_gpu = plan_of("full", gpu);
  CHECK(on_gpu.left_out.empty());
  CHECK(on_gpu.estimated_s < 6 * 3600);
}
