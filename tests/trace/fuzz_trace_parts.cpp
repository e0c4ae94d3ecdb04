// libFuzzer: of whatever trace can be read a part can be kept, compared with the whole and merged
// with a second rank; the summary of each adds up, or an InputError says why there is none.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "nsa/schemas/error.hpp"
#include "nsa/trace/diff.hpp"
#include "nsa/trace/filter.hpp"
#include "nsa/trace/merge.hpp"
#include "nsa/trace/read.hpp"
#include "nsa/trace/summary_json.hpp"

namespace {

using namespace nsa::trace;

Trace read(std::string_view bytes) {
  return bytes.starts_with("NSASPOOL") ? read_spool_trace(bytes, "fuzz")
                                       : read_json_trace(bytes, "fuzz");
}

/// Every kind of filter comes up as the last byte of the input changes.
Filter filter_of(std::uint8_t choice) {
  Filter filter;
  const std::int64_t from = choice >> 4;
  if (choice & 1) filter.steps = {from, from + 2};
  if (choice & 2) filter.time_ns = {from * 1'000, 1'000'000};
  if (choice & 4) filter.stream = from;
  if (choice & 8) filter.name = "e";
  return filter;
}

void expect_sums(const Trace& trace) {
  const auto summary = summarize(trace);
  if (summary.gpu && summary.gpu->idle_ns < 0) std::abort();
  to_document(summary);
}

void keep_a_part(std::string_view bytes) {
  const Trace whole = read(bytes);
  std::vector<Trace> part;
  part.push_back(read(bytes));
  keep(filter_of(static_cast<std::uint8_t>(bytes.back())), part.front());
  if (part.front().ops.size() > whole.ops.size()) std::abort();
  expect_sums(part.front());
  std::vector<Trace> all;
  all.push_back(read(bytes));
  diff_traces(all, part, 0.02);
  const DiffVerdict same = diff_traces(all, all, 0.02).verdict;
  if (same == DiffVerdict::better || same == DiffVerdict::worse) std::abort();
}

void merge_ranks(std::string_view bytes) {
  std::vector<Trace> ranks;
  std::size_t ops = 0;
  for (const std::int64_t rank : {0, 1}) {
    ranks.push_back(read(bytes));
    ranks.back().source.rank = rank;
    ranks.back().source.world_size = 2;
    ops += ranks.back().ops.size();
  }
  const Trace merged = merge_traces(std::move(ranks));
  if (merged.ops.size() != ops) std::abort();
  expect_sums(merged);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (bytes.empty()) return 0;
  for (const auto& way : {keep_a_part, merge_ranks}) {
    try {
      way(bytes);
    } catch (const nsa::InputError&) {
    }
  }
  return 0;
}
