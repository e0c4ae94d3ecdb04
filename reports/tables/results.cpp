#include "results.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <map>
#include <tuple>

#include "nsa/schemas/executor.hpp"
#include "nsa/schemas/median.hpp"

namespace nsa::reports {
namespace {

using Rows = std::vector<const Measurement*>;
using BlockKey = std::tuple<std::string, std::string, std::int64_t, std::int64_t>;
using Blocks = std::map<BlockKey, double>;  // mean log time of one variant in a round

bool timed(const Measurement& row) {
  return row.outcome == Outcome::ok && row.median_ns && *row.median_ns > 0 && !row.control;
}

Blocks blocks_of(const Rows& rows) {
  std::map<BlockKey, std::pair<double, int>> sums;
  for (const Measurement* row : rows) {
    if (!timed(*row)) continue;
    auto& [sum, count] = sums[{row->run_id, row->pair_id, row->process, row->round}];
    sum += std::log(*row->median_ns);
    ++count;
  }
  Blocks blocks;
  for (const auto& [key, sum] : sums) blocks[key] = sum.first / sum.second;
  return blocks;
}

/// Paired by round, so that what the clock did to both cancels; Student's interval of the mean.
std::optional<Ratio> ratio_of(const Blocks& variant, const Blocks& best) {
  std::vector<double> logs;
  for (const auto& [key, value] : variant) {
    const auto found = best.find(key);
    if (found != best.end()) logs.push_back(value - found->second);
  }
  if (logs.empty()) return std::nullopt;
  Ratio ratio{std::exp(median(logs)), {}, {}};
  const auto n = static_cast<double>(logs.size());
  if (logs.size() < 2) return ratio;
  double mean = 0, squares = 0;
  for (const double value : logs) mean += value / n;
  for (const double value : logs) squares += (value - mean) * (value - mean);
  const double half = boost::math::quantile(boost::math::students_t(n - 1), 0.975) *
                      std::sqrt(squares / (n - 1) / n);
  ratio.low = std::min(ratio.median, std::exp(mean - half));
  ratio.high = std::max(ratio.median, std::exp(mean + half));
  return ratio;
}

/// Median absolute deviation, for visits of one sample each: one sample alone has no spread.
double deviation_of(const std::vector<double>& values) {
  const double middle = median(values);
  std::vector<double> distances;
  for (const double value : values) distances.push_back(std::abs(value - middle));
  return median(distances);
}

Result result_of(const Rows& rows, const RoleOf& role) {
  Result result;
  result.first = rows.front();
  result.role = role(*rows.front());
  result.outcome = rows.front()->outcome;
  result.reason = rows.front()->reason;
  result.verification = rows.front()->verification;
  std::vector<double> medians, spreads;
  for (const Measurement* row : rows) {
    if (row->control) continue;
    if (row->verification != Verification::verified) result.verification = row->verification;
    if (row->outcome != Outcome::ok && result.outcome == Outcome::ok) result.reason = row->reason;
    if (row->outcome == Outcome::ok) result.outcome = Outcome::ok;
    if (result.note.empty()) result.note = row->note;
    result.samples_n += row->samples_n;
    if (timed(*row)) medians.push_back(*row->median_ns);
    if (timed(*row) && row->mad_ns && row->samples_n > 1) spreads.push_back(*row->mad_ns);
  }
  const auto wrong =
      std::ranges::find(rows, Verification::wrong_result, &Measurement::verification);
  if (wrong != rows.end()) {
    result.verification = Verification::wrong_result;
    result.reason = (*wrong)->reason;
  }
  if (!medians.empty()) result.median_ns = median(medians);
  if (!spreads.empty()) result.mad_ns = median(spreads);
  if (spreads.empty() && medians.size() > 1) result.mad_ns = deviation_of(medians);
  return result;
}

/// The best is verified; where nothing is, it is the best of what was not refuted.
const Result* best_of(const std::vector<Result>& contest) {
  for (const Verification wanted : {Verification::verified, Verification::unverified}) {
    const Result* best = nullptr;
    for (const Result& result : contest) {
      if (!result.median_ns || !result.role.empty() || result.verification != wanted) continue;
      if (!best || *result.median_ns < *best->median_ns) best = &result;
    }
    if (best) return best;
  }
  return nullptr;
}

std::string problem_text(const Problem& p) {
  std::string text = length_text(p) + ' ' + std::string(to_string(p.selection.pattern));
  if (p.selection.overlap) text += std::to_string(*p.selection.overlap);
  return text + ' ' + std::to_string(p.model.layers);
}

using ContestKey = std::tuple<std::size_t, std::string, std::vector<std::string>, std::int64_t,
                              std::int64_t, std::string, std::string>;

std::size_t stage_order(const std::vector<std::string>& stages) {
  const auto stage =
      stages.empty() ? std::nullopt : from_string<Stage>(std::string_view(stages.front()));
  return stage ? static_cast<std::size_t>(*stage) : kStageCount;
}

std::string device_of(const Measurement& row) {
  return row.placement.empty() ? "" : row.placement[0].device_uuid;
}

/// The device of our rows in each run that has some: a foreign worker's rows were interleaved with
/// them, whatever it calls the device.
std::map<std::string, std::string> own_devices(const std::vector<Measurement>& rows) {
  std::map<std::string, std::string> devices;
  for (const Measurement& row : rows)
    if (row.executor == kOwnExecutor) devices.emplace(row.run_id, device_of(row));
  return devices;
}

ContestKey contest_of(const Measurement& row, const std::map<std::string, std::string>& own) {
  const auto found = row.executor == kOwnExecutor ? own.end() : own.find(row.run_id);
  return {stage_order(row.variant.stages),
          to_string(class_of(row.problem)),
          row.variant.stages,
          row.problem.max_seq_len(),
          row.problem.max_context(),
          problem_text(row.problem),
          found == own.end() ? device_of(row) : found->second};
}

std::vector<Result> judge(const std::map<std::pair<std::string, VariantId>, Rows>& variants,
                          const RoleOf& role) {
  std::vector<Result> contest;
  std::vector<Blocks> blocks;
  for (const auto& [key, rows] : variants) {
    contest.push_back(result_of(rows, role));
    blocks.push_back(blocks_of(rows));
  }
  if (const Result* best = best_of(contest)) {
    const auto b = static_cast<std::size_t>(best - contest.data());
    for (std::size_t i = 0; i < contest.size(); ++i) {
      contest[i].ratio = ratio_of(blocks[i], blocks[b]);
    }
    contest[b].best = true;
  }
  std::stable_sort(contest.begin(), contest.end(), [](const Result& a, const Result& b) {
    return a.median_ns.value_or(INFINITY) < b.median_ns.value_or(INFINITY);
  });
  return contest;
}

}  // namespace

std::string length_text(const Problem& p) {
  const auto list = [](const std::vector<std::int64_t>& lengths) {
    const bool same = std::all_of(lengths.begin(), lengths.end(),
                                  [&](std::int64_t n) { return n == lengths.front(); });
    if (lengths.empty()) return std::string("0");
    if (same) {
      const std::string count = lengths.size() == 1 ? "" : std::to_string(lengths.size()) + "x";
      return count + std::to_string(lengths.front());
    }
    std::string text;
    for (const std::int64_t n : lengths) text += (text.empty() ? "" : "+") + std::to_string(n);
    return text;
  };
  const std::string text = list(p.seq_lens);
  return p.max_context() > 0 ? text + " after " + list(p.context_lens) : text;
}

std::vector<Result> summarise(const std::vector<Measurement>& rows, const RoleOf& role,
                              const ChosenOf& chosen) {
  std::map<ContestKey, std::map<std::pair<std::string, VariantId>, Rows>> contests;
  const std::map<std::string, std::string> own = own_devices(rows);
  for (const Measurement& row : rows) {
    contests[contest_of(row, own)][{row.executor, row.variant}].push_back(&row);
  }
  std::vector<Result> results;
  for (const auto& [key, variants] : contests) {
    for (Result& result : judge(variants, role)) {
      const bool may_run = result.median_ns && result.verification != Verification::wrong_result;
      result.chosen = chosen ? may_run && chosen(*result.first) : result.best;
      results.push_back(std::move(result));
    }
  }
  return results;
}

}  // namespace nsa::reports
