// Whether one trace is faster than another, and where.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nsa/trace/model.hpp"

namespace nsa::trace {

enum class DiffVerdict : std::uint8_t { better, worse, neutral, inconclusive, not_comparable };
/// The enumerator's name.
std::string_view to_string(DiffVerdict verdict) noexcept;

/// One thing that both traces may hold: the steps, a stage, a kernel. Ratios are b to a; the
/// interval holds for all rows of its list at once (Bonferroni).
struct DiffRow {
  std::string name;
  std::string unit;  // what one sample is: "run" (its mean), "step" (a sum over it) or "call"
  std::int64_t count_a = 0, count_b = 0, total_ns_a = 0, total_ns_b = 0;
  DiffVerdict verdict = DiffVerdict::inconclusive;
  std::optional<double> ratio, low, high;  // absent: in one trace only, or too few samples
};

struct TraceDiff {
  std::string path_a, path_b;
  DiffVerdict verdict = DiffVerdict::inconclusive;
  std::vector<std::string> reasons;      // why they cannot be compared
  std::vector<std::string> notes;        // what limits the comparison
  double margin = 0;                     // differences up to this are neutral
  std::optional<DiffRow> steps;          // absent: not marked in both
  std::vector<DiffRow> stages, kernels;  // largest change of time first
  /// Of jobs of several ranks: each rank alone. Steps, stages and kernels above are those of
  /// `rank`, which changed most; verdict, reasons and notes are of all.
  std::vector<TraceDiff> ranks;
  std::optional<std::int64_t> rank;
};

/// Pure. Each side holds one run or more of the same program; with two and more on both, a run is
/// the sample, and what differs from process to process is no longer taken for a difference of the
/// programs. `margin`: .02 = 2 %. The verdict is that of the steps where they are marked, since
/// kernels can get faster while a step does not; else that of the kernels together. `comparisons`:
/// so many are made at once, and an interval holds for all of them.
TraceDiff diff_traces(const std::vector<Trace>& a, const std::vector<Trace>& b, double margin,
                      std::size_t comparisons = 1);

/// One run: the trace of one process, or those of the ranks of a job.
struct RecordedJob {
  std::string path;  // of the file or folder
  std::vector<Trace> traces;
};
/// The same for jobs: each rank against the same rank. A job is as slow as its slowest rank: it is
/// worse where a rank is and none is better, and better where all are. Jobs of other ranks are not
/// comparable. InputError where the traces of a side are not of one job, or do not say their ranks.
TraceDiff diff_jobs(std::vector<RecordedJob> a, std::vector<RecordedJob> b, double margin);

}  // namespace nsa::trace
