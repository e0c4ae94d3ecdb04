// Two jobs of several ranks: each rank against itself.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "nsa/schemas/error.hpp"
#include "nsa/trace/diff.hpp"
#include "nsa/trace/merge.hpp"

namespace nsa::trace {
namespace {

using Side = std::vector<RecordedJob>;

bool of_one_trace(const Side& side) {
  return std::all_of(side.begin(), side.end(),
                     [](const RecordedJob& job) { return job.traces.size() == 1; });
}

std::vector<Trace> only_traces(Side side) {
  std::vector<Trace> out;
  for (RecordedJob& job : side) out.push_back(std::move(job.traces.front()));
  return out;
}

std::string paths_of(const Side& side) {
  std::string out = side.front().path;
  if (side.size() > 1) out += " and " + std::to_string(side.size() - 1) + " more";
  return out;
}

using RunsOfRank = std::map<std::int64_t, std::vector<Trace>>;

/// "ranks 0, 1, 3"
std::string ranks_text(const std::vector<std::int64_t>& ranks) {
  std::string out = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i)
    out += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
  return out;
}

std::vector<std::int64_t> ranks_of(const RecordedJob& job) {
  std::vector<std::int64_t> out;
  for (const Trace& trace : job.traces) {
    if (!trace.source.rank)
      throw InputError(trace.source.path +
                       ": does not say of which rank it is, so it cannot be compared with the same "
                       "rank of the other side; give one trace of each side");
    out.push_back(*trace.source.rank);
  }
  std::sort(out.begin(), out.end());
  return out;
}

RunsOfRank by_rank(Side side) {
  RunsOfRank out;
  for (RecordedJob& job : side)
    for (Trace& trace : job.traces) {
      const std::int64_t rank = *trace.source.rank;
      out[rank].push_back(std::move(trace));
    }
  return out;
}

/// Whose tables are shown: the rank whose steps, or kernels where no steps are marked, changed
/// most.
double change_of(const TraceDiff& diff) {
  if (diff.steps && diff.steps->ratio) return std::abs(std::log(*diff.steps->ratio));
  double a = 0, b = 0;
  for (const DiffRow& row : diff.kernels) {
    a += static_cast<double>(row.total_ns_a);
    b += static_cast<double>(row.total_ns_b);
  }
  return a > 0 && b > 0 ? std::abs(std::log(b / a)) : 0;
}

/// A job is as slow as its slowest rank.
DiffVerdict verdict_of_all(const std::vector<TraceDiff>& ranks) {
  const auto count = [&](DiffVerdict verdict) {
    return std::count_if(ranks.begin(), ranks.end(),
                         [&](const TraceDiff& one) { return one.verdict == verdict; });
  };
  const auto all = static_cast<std::ptrdiff_t>(ranks.size());
  if (count(DiffVerdict::not_comparable) > 0) return DiffVerdict::not_comparable;
  const auto better = count(DiffVerdict::better), neutral = count(DiffVerdict::neutral);
  if (count(DiffVerdict::worse) > 0)
    return better > 0 ? DiffVerdict::inconclusive : DiffVerdict::worse;
  if (better == all) return DiffVerdict::better;
  return better + neutral == all ? DiffVerdict::neutral : DiffVerdict::inconclusive;
}

/// What all ranks say stands once, else with its rank.
std::vector<std::string> texts_of_all(const std::vector<TraceDiff>& ranks,
                                      std::vector<std::string> TraceDiff::*texts) {
  std::map<std::string, std::vector<std::int64_t>> said;
  for (const TraceDiff& one : ranks)
    for (const std::string& text : one.*texts) said[text].push_back(*one.rank);
  std::vector<std::string> out;
  for (const auto& [text, by] : said)
    out.push_back(by.size() == ranks.size() ? text : ranks_text(by) + ": " + text);
  return out;
}

}  // namespace

TraceDiff diff_jobs(std::vector<RecordedJob> a, std::vector<RecordedJob> b, double margin) {
  expects(!a.empty() && !b.empty(), "a recording on both sides");
  const std::string path_a = paths_of(a), path_b = paths_of(b);
  if (of_one_trace(a) && of_one_trace(b))
    return diff_traces(only_traces(std::move(a)), only_traces(std::move(b)), margin);
  const std::vector<std::int64_t> ranks = ranks_of(a.front());
  for (const Side* side : {&a, &b})
    for (const RecordedJob& job : *side) {
      expect_one_job(job.traces);
      const std::vector<std::int64_t> others = ranks_of(job);
      if (others == ranks) continue;
      TraceDiff out;
      out.path_a = path_a;
      out.path_b = path_b;
      out.margin = margin;
      out.verdict = DiffVerdict::not_comparable;
      out.reasons = {a.front().path + " holds " + ranks_text(ranks) + ", and " + job.path + " " +
                     ranks_text(others)};
      return out;
    }
  RunsOfRank of_a = by_rank(std::move(a)), of_b = by_rank(std::move(b));
  std::vector<TraceDiff> all;
  for (const std::int64_t rank : ranks) {
    all.push_back(diff_traces(of_a.at(rank), of_b.at(rank), margin, ranks.size()));
    all.back().rank = rank;
    of_a.erase(rank);
    of_b.erase(rank);
  }
  TraceDiff out = *std::max_element(all.begin(), all.end(), [](const auto& x, const auto& y) {
    return change_of(x) < change_of(y);
  });
  out.path_a = path_a;
  out.path_b = path_b;
  out.verdict = verdict_of_all(all);
  out.reasons = texts_of_all(all, &TraceDiff::reasons);
  out.notes = texts_of_all(all, &TraceDiff::notes);
  out.ranks = std::move(all);
  return out;
}

}  // namespace nsa::trace
