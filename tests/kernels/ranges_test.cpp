// Block ids to ranges: the examples of the semantics, and both converters against the rule.
#include <array>

#include "catch.hpp"
#include "launch_support.hpp"
#include "nsa/schemas/generator.hpp"

namespace nsa::test {
namespace {

using Pairs = std::vector<std::pair<std::int32_t, std::int32_t>>;

/// A problem of one query at `position`, so that one row of blocks can be given.
Problem query_at(std::int64_t position, std::int64_t sel_block, std::int64_t sel_count) {
  Problem p = small_problem();
  p.phase = position == 0 ? Phase::prefill : Phase::decode;
  p.seq_lens = {1};
  p.context_lens = {position};
  p.kv_heads = p.q_heads = 1;
  p.geometry.sel_block = sel_block;
  p.geometry.sel_count = sel_count;
  return p;
}

/// Ranges of one row by that variant, without the padding; -1 ids are put in front of `ids`.
Pairs convert(std::string_view variant, std::int64_t position, std::int64_t sel_block,
              std::int64_t sel_count, std::vector<std::int32_t> ids) {
  const Problem p = query_at(position, sel_block, sel_count);
  ids.insert(ids.begin(), static_cast<std::size_t>(sel_count) - ids.size(), -1);
  const TensorView blocks = make_view(ids.data(), Dtype::int32, {1, 1, sel_count});
  const auto ranges = launch(cpu_variant(Stage::ranges, variant), p, {blocks});
  const auto* data = ranges[0].view().as<const std::int32_t>();
  Pairs pairs;
  bool padding = false;
  for (std::int64_t k = 0; k < sel_count; ++k) {
    const std::pair pair{data[2 * k], data[2 * k + 1]};
    if (pair == std::pair{0, 0}) {
      padding = true;
      continue;
    }
    REQUIRE_FALSE(padding);  // the padding comes last
    pairs.push_back(pair);
  }
  return pairs;
}

}  // namespace

TEST_CASE("both converters give the examples of the semantics", "[kernels]") {
  const std::string variant = GENERATE("ranges_v1", "ranges_v2");
  CHECK(convert(variant, 200, 64, 16, {0, 1, 2, 3}) == Pairs{{0, 201}});
  CHECK(convert(variant, 1500, 64, 16, {0, 4, 5, 9, 22, 23}) ==
        Pairs{{0, 64}, {256, 384}, {576, 640}, {1408, 1501}});
  CHECK(convert(variant, 0, 64, 16, {0}) == Pairs{{0, 1}});
}

TEST_CASE("both converters skip what is invalid and keep the valid part of a run", "[kernels]") {
  const std::string variant = GENERATE("ranges_v1", "ranges_v2");
  // Ids 10 and 11 are beyond the 10 blocks of 40 tokens; 8 and 9 stand in the same run.
  CHECK(convert(variant, 39, 4, 4, {8, 9, 10, 11}) == Pairs{{32, 40}});
  CHECK(convert(variant, 39, 4, 4, {}) == Pairs{});
  CHECK(convert(variant, 39, 4, 4, {2, 2, 2, 3}) == Pairs{{8, 16}});
  CHECK(convert(variant, 39, 4, 4, {2, 2, 5, 5}) == Pairs{{8, 12}, {20, 24}});
  CHECK(convert(variant, 2, 4, 4, {0, 1, 2, 3}) == Pairs{{0, 3}});  // 1 to 3 lie in the future
  CHECK(convert(variant, 2, 4, 4, {4, 5}) == Pairs{});
  CHECK(convert(variant, 39, 4, 4, {1, 3, 5, 7}) == Pairs{{4, 8}, {12, 16}, {20, 24}, {28, 32}});
}

TEST_CASE("a prefill row never reaches beyond its own token, even into existing blocks",
          "[kernels]") {
  const std::string variant = GENERATE("ranges_v1", "ranges_v2");
  Problem p = small_problem();
  p.kv_heads = p.q_heads = 1;
  std::vector<std::int32_t> ids;
  for (int t = 0; t < 40; ++t) ids.insert(ids.end(), {0, 1, 3, 4});
  const auto blocks = make_view(ids.data(), Dtype::int32, {40, 1, 4});
  const auto out = launch(cpu_variant(Stage::ranges, variant), p, {blocks});
  const auto* ranges = out[0].view().as<const std::int32_t>();
  for (std::int64_t t = 0; t < 40; ++t) {
    std::int64_t tokens = 0, last = 0;
    for (std::int64_t k = 0; k < 4; ++k) {
      const auto* pair = ranges + (t * 4 + k) * 2;
      REQUIRE((pair[0] < pair[1] || (pair[0] == 0 && pair[1] == 0)));
      tokens += pair[1] - pair[0];
      last = std::max<std::int64_t>(last, pair[1]);
    }
    const std::int64_t visible =
        std::min<std::int64_t>(t + 1, 16) + std::max<std::int64_t>(0, t + 1 - 24);
    REQUIRE(tokens == visible);
    REQUIRE(last <= t + 1);
  }
}

TEST_CASE("both converters agree on hostile random rows of ascending ids", "[kernels]") {
  Problem p = small_problem();
  p.seq_lens = {61, 3};
  p.context_lens = {0, 0};
  p.geometry.sel_block = GENERATE(4, 8, 16);
  p.geometry.sel_count = GENERATE(3, 7, 16);
  const std::int64_t rows = 64 * p.kv_heads, n = p.geometry.sel_count;
  std::vector<std::int32_t> ids(static_cast<std::size_t>(rows * n));
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto row = ids.begin() + r * n;
    for (std::int64_t k = 0; k < n; ++k) {  // from -3 to 20: negative, repeated, out of range
      row[k] = static_cast<std::int32_t>(fmix32(static_cast<std::uint32_t>(r * n + k)) % 24) - 3;
    }
    std::sort(row, row + n);
  }
  const auto blocks = make_view(ids.data(), Dtype::int32, {64, p.kv_heads, n});
  const auto one = launch(cpu_variant(Stage::ranges, "ranges_v1"), p, {blocks});
  const auto two = launch(cpu_variant(Stage::ranges, "ranges_v2"), p, {blocks});
  REQUIRE(one[0].bytes == two[0].bytes);
  const std::vector<TensorView> in{blocks};
  const auto out = views_of(one);
  REQUIRE(Oracle(Stage::ranges, p, in).verify(out).worst_row_error == 0);
}

}  // namespace nsa::test
