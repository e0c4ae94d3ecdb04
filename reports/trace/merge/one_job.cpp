// Whether several traces can be the ranks of one job.
#include <algorithm>
#include <map>

#include "nsa/schemas/error.hpp"
#include "nsa/trace/merge.hpp"

namespace nsa::trace {
namespace {

/// Ranks are recorded at the same steps; hosts may disagree about the time by less than this.
constexpr std::int64_t kMostApartNs = 3'600'000'000'000;  // an hour
/// Times since 1970 of the years that recordings with absolute times are of. Others count from the
/// start of a machine.
constexpr std::int64_t kEarliestNs = 1'400'000'000'000'000'000;

std::string apart_text(std::int64_t ns) {
  const std::int64_t minutes = ns / 60'000'000'000;
  const std::int64_t hours = minutes / 60, days = hours / 24;
  if (days > 1) return std::to_string(days) + " days";
  return hours > 1 ? std::to_string(hours) + " hours" : std::to_string(minutes) + " minutes";
}

void expect_ranks_once(const std::vector<JobMember>& members) {
  std::map<std::int64_t, const JobMember*> seen;
  for (const JobMember& member : members) {
    if (!member.rank) continue;
    const auto [at, added] = seen.try_emplace(*member.rank, &member);
    if (!added)
      throw InputError(member.path + ": is of rank " + std::to_string(at->first) + ", and so is " +
                       at->second->path + "; give one recording of each rank of one job");
  }
}

void expect_one_world(const std::vector<JobMember>& members) {
  const JobMember* first = nullptr;
  for (const JobMember& member : members) {
    if (!member.world_size) continue;
    if (!first) first = &member;
    if (*member.world_size != *first->world_size)
      throw InputError(member.path + ": is of a job of " + std::to_string(*member.world_size) +
                       " ranks, and " + first->path + " of one of " +
                       std::to_string(*first->world_size) + "; give the ranks of one job");
    if (const std::int64_t rank = member.rank.value_or(0); rank >= *member.world_size)
      throw InputError(member.path + ": says that it is rank " + std::to_string(rank) + " of " +
                       std::to_string(*member.world_size));
  }
}

void expect_one_time(const std::vector<JobMember>& members) {
  const JobMember* first = nullptr;
  for (const JobMember& member : members)
    if (member.last_ns && (!first || *member.last_ns < *first->last_ns)) first = &member;
  for (const JobMember& member : members) {
    if (!first || !member.first_ns || *member.first_ns - *first->last_ns <= kMostApartNs) continue;
    throw InputError(member.path + ": begins " + apart_text(*member.first_ns - *first->last_ns) +
                     " after the end of " + first->path +
                     ", so they are not of one job; give the ranks of one");
  }
}

}  // namespace

JobMember job_member(const Trace& trace) {
  JobMember out{.path = trace.source.path,
                .rank = trace.source.rank,
                .world_size = trace.source.world_size,
                .first_ns = {},
                .last_ns = {}};
  if (trace.ops.empty()) return out;
  std::int64_t first = kMaxTimeNs, last = -kMaxTimeNs;
  for (const GpuOp& op : trace.ops) {
    first = std::min(first, op.start_ns);
    last = std::max(last, op.end_ns);
  }
  const std::int64_t base = trace.source.base_time_ns.value_or(0);
  const bool overflows =
      __builtin_add_overflow(base, first, &first) || __builtin_add_overflow(base, last, &last);
  if (overflows || first < kEarliestNs) return out;
  out.first_ns = first;
  out.last_ns = last;
  return out;
}

void expect_one_job(const std::vector<JobMember>& members) {
  expect_ranks_once(members);
  expect_one_world(members);
  expect_one_time(members);
}

void expect_one_job(const std::vector<Trace>& traces) {
  std::vector<JobMember> members;
  for (const Trace& trace : traces) members.push_back(job_member(trace));
  expect_one_job(members);
}

}  // namespace nsa::trace
