#include "nsa/tuner/compare_runs.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "decide/ratios/noise.hpp"
#include "decide/ratios/statistics.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa::tuner {
namespace {

/// One variant on one problem of one run: log times by process.
struct Times {
  const Observation* first = nullptr;
  std::map<std::int64_t, std::vector<double>> logs;
};

struct RunTimes {
  std::vector<std::string> keys;  // in the order of the rows
  std::map<std::string, Times> times;
};

RunTimes run_of(const Observations& observations) {
  RunTimes run;
  for (const Observation& row : observations.rows()) {
    const bool counts = row.outcome == Outcome::ok && !row.control && !std::isnan(row.log_ns) &&
                        row.verification != Verification::wrong_result;
    if (!counts) continue;
    const std::string key = Json(*row.problem).dump() + to_string(*row.variant) + *row.executor +
                            std::string(to_string(row.launch)) + std::string(to_string(row.timer));
    Times& times = run.times[key];
    if (!times.first) {
      times.first = &row;
      run.keys.push_back(key);
    }
    times.logs[row.process].push_back(row.log_ns);
  }
  return run;
}

Ratio level_of(const Times& times) {
  ByProcess by_process;
  for (const auto& [process, logs] : times.logs) by_process.push_back(logs);
  return *ratio_of(by_process);
}

ComparedTimes compare(const Times& after, const Ratio& a, const Ratio& b, const PooledNoise& noise,
                      std::size_t comparisons) {
  const Spread before_spread = spread_of(b, noise), after_spread = spread_of(a, noise);
  const double error = std::sqrt(before_spread.variance + after_spread.variance);
  const double freedom = std::max(1.0, std::min(before_spread.freedom, after_spread.freedom));
  ComparedTimes compared;
  compared.problem = after.first->problem;
  compared.variant = after.first->variant;
  compared.before_ns = std::exp(value_of(b, noise));
  compared.after_ns = std::exp(value_of(a, noise));
  const double log_ratio = value_of(a, noise) - value_of(b, noise);
  const double half = student_quantile(0.025, freedom) * error;
  compared.ratio = std::exp(log_ratio);
  compared.low = std::exp(log_ratio - half);
  compared.high = std::exp(log_ratio + half);
  const double tail = 0.025 / static_cast<double>(comparisons);
  compared.differs =
      noise.freedom > 0 && std::abs(log_ratio) > student_quantile(tail, freedom) * error;
  return compared;
}

}  // namespace

std::vector<ComparedTimes> compare_runs(const Observations& before, const Observations& after) {
  const RunTimes first = run_of(before), second = run_of(after);
  std::vector<std::pair<Ratio, Ratio>> levels;  // before, after
  std::vector<const Times*> shared;
  std::vector<Ratio> all;
  for (const std::string& key : second.keys) {
    const auto found = first.times.find(key);
    if (found == first.times.end()) continue;
    shared.push_back(&second.times.at(key));
    levels.emplace_back(level_of(found->second), level_of(*shared.back()));
    all.push_back(levels.back().first);
    all.push_back(levels.back().second);
  }
  const PooledNoise noise = pool_noise(all, {});
  std::vector<ComparedTimes> result;
  for (std::size_t i = 0; i < shared.size(); ++i)
    result.push_back(compare(*shared[i], levels[i].second, levels[i].first, noise, shared.size()));
  return result;
}

}  // namespace nsa::tuner
