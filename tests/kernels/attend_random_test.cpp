// Random shapes of every kind against the oracle, all rows of the output.
#include "attend_support.hpp"
#include "catch.hpp"

namespace nsa::test {

TEST_CASE("every attention row agrees with the oracle on random shapes", "[kernels][attend]") {
  const auto seed = GENERATE(range(0, 40));
  Dice dice(static_cast<std::uint32_t>(seed));
  const Problem problem = random_problem(dice);
  INFO(describe(problem));
  REQUIRE_FALSE(find_violation(problem));
  for (const Stage stage : kAttendStages) {
    const auto inputs = make_inputs(stage, problem, static_cast<std::uint64_t>(seed));
    const auto in = views_of(inputs);
    const Oracle oracle(stage, problem, in);
    for (const Variant* variant : cpu_rows(stage)) {
      for (const VariantId& id : ids_of(*variant)) {
        const auto outputs = launch(*variant, problem, in, id.point);
        const TensorView out[] = {outputs.front().view()};  // that of the stage
        const auto verdict = oracle.verify(out);
        INFO(to_string(id) << " worst row " << verdict.worst_row);
        CHECK(verdict.poison_left == 0);
        CHECK(verdict.non_finite == 0);
        CHECK(verdict.worst_row_error <= row_tolerance(stage, problem.dtype));
      }
    }
  }
}

}  // namespace nsa::test
