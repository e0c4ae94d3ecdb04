// Generated inputs: selections by pattern, the same on every machine and for every row alone.
#include <algorithm>

#include "catch.hpp"
#include "cpu/convert.hpp"
#include "launch_support.hpp"
#include "nsa/schemas/generator.hpp"
#include "reference/forced_blocks.hpp"

namespace nsa::test {
namespace {

Problem pattern_problem(SelectionPattern pattern) {
  Problem p;
  p.seq_lens = {2048, 300};
  p.context_lens = {0, 0};
  p.geometry = {8, 4, 8, 16, 64};
  p.selection.pattern = pattern;
  return p;
}

}  // namespace

TEST_CASE("a generated selection is ascending, distinct, full, forced and causal", "[kernels]") {
  const auto p = pattern_problem(GENERATE(SelectionPattern::random, SelectionPattern::smooth));
  const std::int64_t n = p.geometry.sel_count;
  std::vector<std::int32_t> row(static_cast<std::size_t>(n));
  for (std::int64_t t = 0; t < 3000; ++t) {
    pattern_blocks(p, t, 5, 11, row.data());
    const ForcedBlocks forced = forced_blocks(t, p.geometry);
    const std::int64_t current = t / p.geometry.sel_block;
    const auto used = n - std::count(row.begin(), row.end(), -1);
    INFO("query " << t);
    REQUIRE(used == std::min(n, current + 1));
    REQUIRE(std::is_sorted(row.begin(), row.end()));
    REQUIRE(std::adjacent_find(row.begin() + (n - used), row.end()) == row.end());
    REQUIRE(row.back() == current);
    for (std::int64_t i = 0; i < forced.count; ++i) {
      const auto id = static_cast<std::int32_t>(forced.ids[static_cast<std::size_t>(i)]);
      REQUIRE(std::binary_search(row.begin(), row.end(), id));
    }
  }
}

TEST_CASE("a smooth selection keeps 95 percent of its neighbour's blocks, a random one does not",
          "[kernels]") {
  const auto overlap = [](SelectionPattern pattern) {
    const auto p = pattern_problem(pattern);
    const auto inputs = make_inputs(Stage::ranges, p, 21);
    return measured_overlap(p, inputs[0].view());
  };
  const auto smooth = overlap(SelectionPattern::smooth), random = overlap(SelectionPattern::random);
  REQUIRE(smooth.has_value());
  CHECK(*smooth > 0.94);
  CHECK(*smooth < 0.97);
  CHECK(*random < 0.3);
}

TEST_CASE("the overlap of rows without free picks is unknown, not zero", "[kernels]") {
  Problem p = small_problem();
  p.seq_lens = {16};
  const auto inputs = make_inputs(Stage::ranges, p, 1);
  CHECK_FALSE(measured_overlap(p, inputs[0].view()).has_value());
}

TEST_CASE("selections differ by seed and by stream, and repeat for the same ones", "[kernels]") {
  const auto p = pattern_problem(GENERATE(SelectionPattern::random, SelectionPattern::smooth));
  const auto row = [&](std::uint64_t stream, std::uint64_t seed) {
    std::vector<std::int32_t> blocks(16);
    pattern_blocks(p, 1999, stream, seed, blocks.data());
    return blocks;
  };
  CHECK(row(1, 2) == row(1, 2));
  CHECK(row(1, 2) != row(2, 2));
  CHECK(row(1, 2) != row(1, 3));
}

TEST_CASE("recorded selections cannot be generated", "[kernels]") {
  const auto p = pattern_problem(SelectionPattern::recorded);
  CHECK_THROWS_AS(make_inputs(Stage::attend_selected, p, 1), InputError);
  CHECK(make_inputs(Stage::attend_window, p, 1).size() == 3);
}

TEST_CASE("inputs follow the generator, with the seed of their place in the list", "[kernels]") {
  Problem p = small_problem();
  const auto inputs = make_inputs(Stage::out_proj, p, 40);
  const auto* o = inputs[0].view().as<const double>();
  const auto* w = inputs[1].view().as<const double>();
  CHECK(o[5] == generate(5, 40, kUnitVarianceScale));
  CHECK(w[7] == generate(7, 41, kUnitVarianceScale / 4));  // fan in 4 heads x 4
  p.dtype = Dtype::bf16;
  const auto halves = make_inputs(Stage::out_proj, p, 40);
  float rounded = 0;
  load_row(halves[0].view(), 5, 1, &rounded);
  CHECK(rounded != static_cast<float>(o[5]));
  CHECK(rounded == Approx(o[5]).epsilon(0x1p-8));
}

TEST_CASE("outputs begin as poison in every byte", "[kernels]") {
  for (const HostTensor& tensor : make_outputs(Stage::project_rope, small_problem())) {
    CHECK(std::all_of(tensor.bytes.begin(), tensor.bytes.end(),
                      [](std::byte byte) { return byte == kPoison; }));
  }
}

}  // namespace nsa::test
