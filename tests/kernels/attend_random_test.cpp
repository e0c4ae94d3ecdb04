// Random shapes of every kind against the oracle, all rows of the output.
#include "attend_support.hpp"
#include "catch.hpp"

namespace nsa::test {
namespace {

class Dice {
 public:
  explicit Dice(std::uint32_t seed) : engine_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  std::int64_t one_of(std::initializer_list<std::int64_t> values) {
    return values.begin()[between(0, static_cast<std::int64_t>(values.size()) - 1)];
  }

 private:
  std::mt19937 engine_;
};

Problem random_problem(Dice& dice) {
  Problem p;
  p.phase = static_cast<Phase>(dice.between(0, 2));
  p.seq_lens.clear(), p.context_lens.clear();
  const std::int64_t batch = dice.between(1, 4);
  for (std::int64_t b = 0; b < batch; ++b) {
    p.seq_lens.push_back(p.phase == Phase::decode ? 1 : dice.between(1, 180));
    p.context_lens.push_back(p.phase == Phase::prefill ? 0 : dice.between(0, 200));
  }
  p.kv_heads = dice.between(1, 3);
  p.q_heads = p.kv_heads * dice.between(1, 16);
  p.head_dim_k = 2 * dice.one_of({1, 3, 4, 8, 20, 32, 96});
  p.head_dim_v = dice.one_of({1, 3, 7, 16, 33, 64, 128});
  const std::int64_t stride = dice.one_of({1, 2, 4, 8});
  p.geometry.cmp_stride = stride;
  p.geometry.cmp_block = stride * dice.between(1, 4);
  p.geometry.sel_block = stride * dice.one_of({1, 3, 8, 16});
  p.geometry.sel_count = dice.between(3, 9);
  p.geometry.window = dice.one_of({0, 1, 5, 63, 64, 65, 400});
  p.dtype = static_cast<Dtype>(dice.between(0, 3));
  p.selection.pattern =
      dice.between(0, 1) == 0 ? SelectionPattern::random : SelectionPattern::smooth;
  return p;
}

}  // namespace

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
        const auto verdict = oracle.verify(views_of(outputs));
        INFO(to_string(id) << " worst row " << verdict.worst_row);
        CHECK(verdict.poison_left == 0);
        CHECK(verdict.non_finite == 0);
        CHECK(verdict.worst_row_error <= row_tolerance(stage, problem.dtype));
      }
    }
  }
}

}  // namespace nsa::test
