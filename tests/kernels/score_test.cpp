// The exact rules of selection: ties, NaN, forced blocks, full rows.
#include <limits>
#include <set>

#include "catch.hpp"
#include "launch_support.hpp"
#include "reference/forced_blocks.hpp"
#include "reference/reference.hpp"

namespace nsa::test {
namespace {

Problem long_problem(Dtype dtype) {
  Problem p = small_problem();
  p.seq_lens = {150};
  p.dtype = dtype;
  return p;
}

using Row = std::vector<std::int32_t>;

/// Blocks of the last query of head 0, with the inputs changed by `edit`.
template <class Edit>
Row last_row(std::string_view variant, const Problem& p, Edit edit) {
  auto inputs = make_inputs(Stage::score, p, 3);
  edit(inputs);
  const auto out = launch(cpu_variant(Stage::score, variant), p, views_of(inputs));
  const TensorView blocks = out[0].view();
  const auto* row = blocks.as<const std::int32_t>() + blocks.at(p.total_tokens() - 1, 0);
  return {row, row + p.geometry.sel_count};
}

}  // namespace

TEST_CASE("equal scores go to the lower index", "[kernels]") {
  const std::string variant = GENERATE("materialised", "streamed");
  const Dtype dtype = GENERATE(Dtype::fp64, Dtype::fp32);
  const Problem p = long_problem(dtype);
  // Zero keys: every visible compressed token weighs the same, so blocks 1 .. 16 tie exactly
  // (each is covered by the same weights), and one block is picked beside the forced 0, 17, 18.
  const Row row = last_row(variant, p, [](auto& inputs) {
    std::fill(inputs[1].bytes.begin(), inputs[1].bytes.end(), std::byte{0});
  });
  CHECK(row == Row{0, 1, 17, 18});
}

TEST_CASE("a NaN score counts as the lowest, and the row is still full and valid", "[kernels]") {
  const std::string variant = GENERATE("materialised", "streamed");
  const Problem p = long_problem(Dtype::fp32);
  SECTION("NaN in a query makes all scores NaN: the lower index wins") {
    const Row row = last_row(variant, p, [](auto& inputs) {
      const TensorView q = inputs[0].view();
      q.template as<float>()[q.at(149, 0)] = std::numeric_limits<float>::quiet_NaN();
    });
    CHECK(row == Row{0, 1, 17, 18});
  }
  SECTION("NaN in another query changes nothing") {
    const auto plain = last_row(variant, p, [](auto&) {});
    const auto other = last_row(variant, p, [](auto& inputs) {
      const TensorView q = inputs[0].view();
      q.template as<float>()[q.at(148, 0)] = std::numeric_limits<float>::quiet_NaN();
    });
    CHECK(plain == other);
  }
}

TEST_CASE("the reference ranks by score, then by index, with NaN last", "[kernels]") {
  const Geometry g{4, 2, 8, 5, 6};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(reference::top_blocks({9, 1, 3, 3, 2, 0, 0}, 50, g) == Row{0, 2, 3, 5, 6});
  CHECK(reference::top_blocks({9, nan, 3, nan, 2, 0, 0}, 50, g) == Row{0, 2, 4, 5, 6});
  CHECK(reference::top_blocks({9, nan, nan, nan, nan, 0, 0}, 50, g) == Row{0, 1, 2, 5, 6});
  CHECK(reference::top_blocks({1}, 0, g) == Row{-1, -1, -1, -1, 0});
  CHECK(reference::top_blocks({1, 1}, 8, g) == Row{-1, -1, -1, 0, 1});
  CHECK(reference::top_blocks({1, 1, 1}, 23, g) == Row{-1, -1, 0, 1, 2});
}

TEST_CASE("the forced blocks are the first, the current one and the one before", "[kernels]") {
  const Geometry g{4, 2, 8, 4, 6};
  const auto ids = [&](std::int64_t position) {
    const ForcedBlocks forced = forced_blocks(position, g);
    return std::set<std::int64_t>(forced.ids.begin(), forced.ids.begin() + forced.count);
  };
  CHECK(ids(0) == std::set<std::int64_t>{0});
  CHECK(ids(15) == std::set<std::int64_t>{0, 1});
  CHECK(ids(16) == std::set<std::int64_t>{0, 1, 2});
  CHECK(ids(79) == std::set<std::int64_t>{0, 8, 9});
}

TEST_CASE("a geometry with fewer than three selected blocks is refused", "[kernels]") {
  Problem p = small_problem();
  REQUIRE_FALSE(find_violation(p).has_value());
  p.geometry.sel_count = 2;
  const auto violation = find_violation(p);
  REQUIRE(violation.has_value());
  CHECK(violation->find("/sel_count") != std::string::npos);
}

TEST_CASE("block weights are the share of overlapping tokens and sum to one", "[kernels]") {
  const Geometry g;  // l 32, d 16, l' 64
  const auto weights = [&](std::size_t i) {
    reference::Row p_cmp(i + 1, 0.0);
    p_cmp[i] = 1;
    return reference::block_scores(p_cmp, 3, g);
  };
  CHECK(weights(0) == reference::Row{1, 0, 0});
  CHECK(weights(2) == reference::Row{1, 0, 0});
  CHECK(weights(3) == reference::Row{.5, .5, 0});
  CHECK(weights(4) == reference::Row{0, 1, 0});
  CHECK(weights(7) == reference::Row{0, .5, .5});
}

TEST_CASE("the selected blocks are saved where the caller asks for them", "[kernels]") {
  const std::string variant = GENERATE("materialised", "streamed");
  const Problem p = long_problem(Dtype::fp32);
  const auto inputs = make_inputs(Stage::score, p, 3);
  auto copy = make_outputs(Stage::score, p);
  Saved saved;
  saved.blocks = copy[0].view();
  const auto out = launch(cpu_variant(Stage::score, variant), p, views_of(inputs), {}, {}, &saved);
  CHECK(out[0].bytes == copy[0].bytes);
}

}  // namespace nsa::test
