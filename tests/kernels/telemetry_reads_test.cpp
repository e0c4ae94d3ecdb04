// Reads of one query and lengths of all rows, against counting one by one.
#include <algorithm>
#include <utility>

#include "catch.hpp"
#include "nsa/kernels/telemetry.hpp"

using namespace nsa;

namespace {

/// Lengths of the selected rows of every position, counted from the blocks.
std::int64_t counted_tokens(std::int64_t position, const Geometry& g) {
  const std::int64_t blocks = position / g.sel_block + 1;
  std::int64_t tokens = 0;
  // The current block and as many complete ones as n leaves room for.
  for (std::int64_t k = 0; k < std::min(blocks, g.sel_count); ++k) {
    const std::int64_t block = k == 0 ? blocks - 1 : k - 1;
    tokens += std::min((block + 1) * g.sel_block, position + 1) - block * g.sel_block;
  }
  return tokens;
}

}  // namespace

TEST_CASE("predicted reads are those of the published table", "[kernels][telemetry]") {
  const std::vector<std::pair<std::int64_t, std::int64_t>> published{
      {1, 1025},    {16, 1040},   {32, 1057},    {48, 1074},    {64, 1091},
      {128, 1159},  {256, 1295},  {512, 1567},   {1024, 1599},  {2048, 1663},
      {4096, 1791}, {8192, 2047}, {16384, 2559}, {32768, 3583}, {65536, 5631}};
  for (const auto& [tokens, reads] : published) {
    INFO(tokens);
    CHECK(reads_pred(tokens, Geometry{}) == reads);
  }
}

TEST_CASE("actual reads count what is there, and never more than predicted",
          "[kernels][telemetry]") {
  const Geometry g;
  for (std::int64_t tokens = 1; tokens <= 3000; ++tokens) {
    const std::int64_t expected = num_compressed(tokens, g) + counted_tokens(tokens - 1, g) +
                                  std::min<std::int64_t>(tokens, 512);
    REQUIRE(reads_act(tokens, g) == expected);
    REQUIRE(reads_act(tokens, g) <= reads_pred(tokens, g));
  }
  CHECK(reads_act(1, g) == 2);
  // The last block is full at a multiple of l', so the formula holds there.
  CHECK(reads_act(2048, g) == reads_pred(2048, g));
  CHECK(reads_act(2049, g) == reads_pred(2049, g) - 63);
}

TEST_CASE("reads of a problem are those of its longest sequence", "[kernels][telemetry]") {
  Problem p;
  p.phase = Phase::chunked_prefill;
  p.seq_lens = {5, 100};
  p.context_lens = {4000, 28};
  CHECK(reads_pred(p) == reads_pred(4005, p.geometry));
  CHECK(reads_act(p) == reads_act(4005, p.geometry));
}

TEST_CASE("row lengths by arithmetic equal row lengths counted one by one",
          "[kernels][telemetry]") {
  Problem p;
  p.phase = Phase::chunked_prefill;
  p.kv_heads = 3;
  p.geometry.sel_block = 8;
  p.geometry.sel_count = 4;
  p.seq_lens = {1, 7, 8, 33, 100, 2};
  p.context_lens = {0, 0, 30, 5, 21, 63};
  Telemetry telemetry;
  telemetry.selection_rows_of(p);
  const TelemetryReport report = telemetry.report();

  std::int64_t rows = 0, sum = 0, longest = 0, at_max = 0;
  std::map<std::int64_t, std::int64_t> histogram;
  for (std::size_t b = 0; b < p.seq_lens.size(); ++b) {
    for (std::int64_t i = 0; i < p.seq_lens[b]; ++i) {
      const std::int64_t length = counted_tokens(p.context_lens[b] + i, p.geometry);
      rows += 3;
      sum += 3 * length;
      longest = std::max(longest, length);
      at_max += length == 32 ? 3 : 0;
      std::int64_t bin = 1;
      while (bin < length) bin *= 2;
      histogram[bin] += 3;
    }
  }
  CHECK(report.sel_rows == rows);
  CHECK(report.sel_k_mean == Approx(static_cast<double>(sum) / static_cast<double>(rows)));
  CHECK(report.sel_k_max == longest);
  CHECK(report.sel_pct_at_max == Approx(static_cast<double>(at_max) / static_cast<double>(rows)));
  CHECK(report.row_length_histogram ==
        std::vector<std::pair<std::int64_t, std::int64_t>>(histogram.begin(), histogram.end()));
}

TEST_CASE("calls by ranges that rest on no measurement are counted by stage and basis",
          "[kernels][telemetry]") {
  Telemetry telemetry;
  telemetry.decided(Stage::attend_selected, Basis::measured);
  telemetry.decided(Stage::attend_selected, Basis::extrapolated);
  telemetry.decided(Stage::attend_selected, Basis::extrapolated);
  telemetry.decided(Stage::score, Basis::undecided);
  using Counts = std::map<std::pair<std::string, std::string>, std::int64_t>;
  CHECK(telemetry.report().unmeasured ==
        Counts{{{"attend_selected", "extrapolated"}, 2}, {{"score", "undecided"}, 1}});
  telemetry.reset();
  CHECK(telemetry.report().unmeasured.empty());
}

TEST_CASE(
    "lengths are counted to an eighth of an octave, new tokens or those of a decode's context",
    "[kernels][telemetry]") {
  Telemetry telemetry;
  Problem p;
  p.seq_lens = {2048, 2087, 2303, 2304, 9};
  p.context_lens = {0, 0, 0, 0, 0};
  telemetry.sequences(p);
  p.phase = Phase::decode;
  p.seq_lens = {1, 1};
  p.context_lens = {4095, 0};
  telemetry.sequences(p);
  CHECK(telemetry.report().lengths == std::vector<LengthCount>{{Phase::prefill, 9, 1},
                                                               {Phase::prefill, 2048, 3},
                                                               {Phase::prefill, 2304, 1},
                                                               {Phase::decode, 0, 1},
                                                               {Phase::decode, 3840, 1}});
  telemetry.reset();
  CHECK(telemetry.report().lengths.empty());
}
