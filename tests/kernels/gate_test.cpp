// The gate's overrides, and branches that are off.
#include "catch.hpp"
#include "launch_support.hpp"

namespace nsa::test {
namespace {

/// o and the saved gates under those options; branch outputs that are off are absent.
struct Gated {
  std::vector<HostTensor> inputs = make_inputs(Stage::gate_combine, small_problem(), 4);
  std::vector<HostTensor> o;
  std::vector<float> gates = std::vector<float>(40 * 2 * 3, -1.f);

  Gated(std::string_view variant, const AttentionOptions& options) {
    Saved saved;
    saved.gates = make_view(gates.data(), Dtype::fp32, {40, 2, 3});
    auto in = views_of(inputs);
    for (std::size_t b = 0; b < 3; ++b) {
      if (!(options.branches >> b & 1u)) in[1 + b] = {};
    }
    o = launch(cpu_variant(Stage::gate_combine, variant), small_problem(), in, {}, options, &saved);
  }
  double out(std::int64_t t, std::int64_t i) const { return o[0].view().as<double>()[t * 16 + i]; }
  double branch(std::size_t b, std::int64_t t, std::int64_t i) const {
    return inputs[1 + b].view().as<double>()[t * 16 + i];
  }
};

}  // namespace

TEST_CASE("gates sum to one and weigh the branches in the order cmp, sel, win", "[kernels]") {
  const Gated run(GENERATE("three_steps", "gate_fused"), {});
  for (std::int64_t t = 0; t < 40; ++t) {
    const float* gate = run.gates.data() + t * 6;
    REQUIRE(gate[0] + gate[1] + gate[2] == Approx(1).epsilon(1e-6));
    const double expected = gate[0] * run.branch(0, t, 0) + gate[1] * run.branch(1, t, 0) +
                            gate[2] * run.branch(2, t, 0);
    REQUIRE(run.out(t, 0) == Approx(expected).epsilon(1e-5));
  }
}

TEST_CASE("a uniform gate is the mean of the branches", "[kernels]") {
  AttentionOptions options;
  options.uniform_gate = true;
  const Gated run(GENERATE("three_steps", "gate_fused"), options);
  const double mean = (run.branch(0, 7, 9) + run.branch(1, 7, 9) + run.branch(2, 7, 9)) / 3;
  CHECK(run.out(7, 9) == Approx(mean).epsilon(1e-12));
}

TEST_CASE("a forced branch is passed through unchanged", "[kernels]") {
  AttentionOptions options;
  options.force_branch = GENERATE(Branch::cmp, Branch::sel, Branch::win);
  const Gated run(GENERATE("three_steps", "gate_fused"), options);
  const auto b = index_of(*options.force_branch);
  for (std::int64_t i = 0; i < 16; ++i) REQUIRE(run.out(31, i) == run.branch(b, 31, i));
}

TEST_CASE("a branch that is off is not read and the others share its weight", "[kernels]") {
  AttentionOptions options;
  options.branches = 0b101;
  const Gated run(GENERATE("three_steps", "gate_fused"), options);
  const float* gate = run.gates.data() + 12 * 6;
  CHECK(gate[1] == 0);
  CHECK(gate[0] + gate[2] == Approx(1).epsilon(1e-6));
  const double expected = gate[0] * run.branch(0, 12, 3) + gate[2] * run.branch(2, 12, 3);
  CHECK(run.out(12, 3) == Approx(expected).epsilon(1e-5));
}

TEST_CASE("with every branch off the output is zero", "[kernels]") {
  AttentionOptions options;
  options.branches = 0;
  const Gated run(GENERATE("three_steps", "gate_fused"), options);
  for (std::int64_t i = 0; i < 16; ++i) REQUIRE(run.out(20, i) == 0);
}

TEST_CASE("a high temperature evens the gate, a low one sharpens it, as in the oracle",
          "[kernels]") {
  AttentionOptions options;
  options.gate_tau = GENERATE(0.05, 20.0);
  const Gated run(GENERATE("three_steps", "gate_fused"), options);
  const auto in = views_of(run.inputs), out = views_of(run.o);
  CHECK(Oracle(Stage::gate_combine, small_problem(), in, options).verify(out).worst_row_error <
        1e-12);
  const float* gate = run.gates.data();
  const float largest = std::max({gate[0], gate[1], gate[2]});
  CHECK((options.gate_tau > 1 ? largest < .4f : largest > .5f));
}

}  // namespace nsa::test
