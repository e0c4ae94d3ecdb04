// Whether several traces can be the ranks of one job.
#include <algorithm>
#include <map>
#include <optional>

#include "nsa/schemas/error.hpp"
#include "nsa/trace/merge.hpp"

namespace nsa::trace {
namespace {

/// Ranks are recorded at the same steps; hosts may disagree about the time by less than this.
constexpr std::int64_t kMostApartNs = 3'600'000'000'000;  // an hour
/// Times since 1970 of the years that recordings with absolute times are of. Others count from the
/// start of a machine.
constexpr std::int64_t kEarliestNs = 1'400'000'000'000'000'000;

struct Span {
  std::int64_t start_ns = 0, end_ns = 0;
};

/// Of the operations of a trace since 1970; nothing where it does not say.
std::optional<Span> absolute_span(const Trace& trace) {
  if (trace.ops.empty()) return {};
  std::int64_t first = kMaxTimeNs, last = -kMaxTimeNs;
  for (const GpuOp& op : trace.ops) {
    first = std::min(first, op.start_ns);
    last = std::max(last, op.end_ns);
  }
  const std::int64_t base = trace.source.base_time_ns.value_or(0);
  Span out;
  if (__builtin_add_overflow(base, first, &out.start_ns) ||
      __builtin_add_overflow(base, last, &out.end_ns))
    return {};
  return out.start_ns < kEarliestNs ? std::nullopt : std::optional(out);
}

std::string apart_text(std::int64_t ns) {
  const std::int64_t minutes = ns / 60'000'000'000;
  const std::int64_t hours = minutes / 60, days = hours / 24;
  if (days > 1) return std::to_string(days) + " days";
  return hours > 1 ? std::to_string(hours) + " hours" : std::to_string(minutes) + " minutes";
}

void expect_ranks_once(const std::vector<Trace>& traces) {
  std::map<std::int64_t, const Trace*> seen;
  for (const Trace& trace : traces) {
    if (!trace.source.rank) continue;
    const auto [at, added] = seen.try_emplace(*trace.source.rank, &trace);
    if (!added)
      throw InputError(trace.source.path + ": is of rank " + std::to_string(at->first) +
                       ", and so is " + at->second->source.path +
                       "; give one recording of each rank of one job");
  }
}

void expect_one_world(const std::vector<Trace>& traces) {
  const Trace* first = nullptr;
  for (const Trace& trace : traces) {
    const auto& size = trace.source.world_size;
    if (!size) continue;
    if (!first) first = &trace;
    if (*size != *first->source.world_size)
      throw InputError(trace.source.path + ": is of a job of " + std::to_string(*size) +
                       " ranks, and " + first->source.path + " of one of " +
                       std::to_string(*first->source.world_size) + "; give the ranks of one job");
    if (trace.source.rank.value_or(0) >= *size)
      throw InputError(trace.source.path + ": says that it is rank " +
                       std::to_string(*trace.source.rank) + " of " + std::to_string(*size));
  }
}

void expect_one_time(const std::vector<Trace>& traces) {
  const Trace* first = nullptr;
  std::optional<Span> ends_first;
  for (const Trace& trace : traces) {
    const auto span = absolute_span(trace);
    if (span && (!ends_first || span->end_ns < ends_first->end_ns)) {
      ends_first = span;
      first = &trace;
    }
  }
  for (const Trace& trace : traces) {
    const auto span = absolute_span(trace);
    if (!span || span->start_ns - ends_first->end_ns <= kMostApartNs) continue;
    throw InputError(trace.source.path + ": begins " +
                     apart_text(span->start_ns - ends_first->end_ns) + " after the end of " +
                     first->source.path + ", so they are not of one job; give the ranks of one");
  }
}

}  // namespace

void expect_one_job(const std::vector<Trace>& traces) {
  expect_ranks_once(traces);
  expect_one_world(traces);
  expect_one_time(traces);
}

}  // namespace nsa::trace
