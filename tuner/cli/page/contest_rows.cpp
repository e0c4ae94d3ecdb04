#include "contest_rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "nsa/schemas/executor.hpp"
#include "nsa/schemas/median.hpp"

namespace nsa::cli {
namespace {

bool is_comparable(const Measurement& row) {
  const auto& lengths = row.problem.seq_lens;
  const bool even =
      std::ranges::adjacent_find(lengths, std::ranges::not_equal_to{}) == lengths.end();
  return row.outcome == Outcome::ok && row.verification != Verification::wrong_result &&
         row.median_ns && *row.median_ns > 0 && !row.control && !row.held_out && even;
}

ContestKey key_of(const Measurement& row) {
  const Problem& p = row.problem;
  std::string how = fmt::format("batch {}, {}", p.batch(), to_string(p.selection.pattern));
  if (p.selection.overlap) how += fmt::format(" {}", *p.selection.overlap);
  if (p.model.model_dim > 0) how += fmt::format(", width {}", p.model.model_dim);
  how += fmt::format(", {}, {}", to_string(row.launch), row.cold ? "cold" : "warm");
  return {fmt::format("{}", fmt::join(row.variant.stages, "+")), to_string(class_of(p)), how};
}

/// Decisions of a decode step go by the cached tokens, others by the new ones.
Axis axis_of_phase(Phase phase) {
  return phase == Phase::decode ? Axis::context_len : Axis::seq_len;
}

}  // namespace

std::string name_of(const VariantId& variant, const std::string& executor) {
  return to_string(variant) + (executor == kOwnExecutor ? "" : " by " + executor);
}

Contests read_contests(const store::Store& db, const std::string& run,
                       const std::string& device_uuid) {
  Contests found;
  db.for_each_measurement({.run_id = run, .device_uuid = device_uuid}, [&](const Measurement& row) {
    if (!is_comparable(row)) return;
    Contest& contest = found[key_of(row)];
    contest.of = class_of(row.problem);
    contest.stages = row.variant.stages;
    contest.axis = axis_of_phase(row.problem.phase);
    contest.cold = row.cold;
    const std::int64_t length = axis_value(row.problem, contest.axis);
    if (length < 1) return;
    Place& place = contest.variants[name_of(row.variant, row.executor)][length];
    place.times[{row.process, row.round}] = *row.median_ns;
    place.cost = row.cost;
    if (row.workspace_bytes)
      place.workspace_bytes = std::max(place.workspace_bytes.value_or(0), *row.workspace_bytes);
  });
  return found;
}

double median_of(const Times& times) {
  std::vector<double> values;
  for (const auto& [round, ns] : times) values.push_back(ns);
  return median(values);
}

std::map<std::int64_t, const Times*> best_at(const Variants& variants) {
  std::map<std::int64_t, const Times*> best;
  for (const auto& [name, lengths] : variants) {
    for (const auto& [length, place] : lengths) {
      const Times*& there = best[length];
      if (!there || median_of(place.times) < median_of(*there)) there = &place.times;
    }
  }
  return best;
}

}  // namespace nsa::cli
