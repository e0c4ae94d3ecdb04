#include "samples.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace nsa::trace {
namespace {

constexpr std::size_t kFewestSteps = 5, kFewestRuns = 2;
constexpr std::size_t kShortSeries = 16, kMostBatches = 10;

bool all_positive(const std::vector<std::int64_t>& values) {
  return std::all_of(values.begin(), values.end(), [](std::int64_t v) { return v > 0; });
}

bool enough_steps(const std::vector<std::int64_t>& steps) {
  return steps.size() >= kFewestSteps && all_positive(steps);
}

double mean_of(const std::int64_t* values, std::size_t count) {
  long double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += static_cast<long double>(values[i]);
  return static_cast<double>(sum / static_cast<long double>(count));
}
double mean_of(const std::vector<std::int64_t>& values) {
  return mean_of(values.data(), values.size());
}

Series series_of(std::vector<std::int64_t> samples) {
  const double mean = samples.empty() ? 0 : mean_of(samples);
  return {std::move(samples), mean};
}

/// Of one run each. Batches of one side against single calls of the other would be compared with
/// errors of two kinds.
void take_series(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b,
                 SampleSet& out) {
  out.a = series_of(a);
  out.b = series_of(b);
  if (a.size() < kShortSeries || b.size() < kShortSeries) return;
  out.a.samples = batch_means(a);
  out.b.samples = batch_means(b);
}

using Runs = std::vector<const Samples*>;

bool all_there(const Runs& runs) {
  return std::all_of(runs.begin(), runs.end(), [](const Samples* s) { return s != nullptr; });
}

/// A run's mean over its steps, else over its calls.
std::vector<std::int64_t> run_means(const Runs& runs, bool by_step) {
  std::vector<std::int64_t> out;
  for (const Samples* run : runs)
    out.push_back(std::llround(mean_of(by_step ? run->steps : run->calls)));
  return out;
}

}  // namespace

std::vector<std::int64_t> batch_means(const std::vector<std::int64_t>& series) {
  const std::size_t n = series.size();
  if (n < kShortSeries) return series;
  const auto root = static_cast<std::size_t>(std::sqrt(static_cast<double>(n)));
  const std::size_t batches = std::min(root, kMostBatches);
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < batches; ++i) {
    const std::size_t begin = i * n / batches, end = (i + 1) * n / batches;
    out.push_back(std::llround(mean_of(series.data() + begin, end - begin)));
  }
  return out;
}

SampleSet samples_of(const Runs& a, const Runs& b) {
  SampleSet out;
  out.unit = "call";
  if (!all_there(a) || !all_there(b)) return out;
  const auto steps = [](const Runs& runs) {
    return std::all_of(runs.begin(), runs.end(),
                       [](const Samples* s) { return enough_steps(s->steps); });
  };
  const bool by_step = steps(a) && steps(b);
  if (a.size() >= kFewestRuns && b.size() >= kFewestRuns) {
    out.unit = "run";
    out.a = series_of(run_means(a, by_step));
    out.b = series_of(run_means(b, by_step));
  } else {
    out.unit = by_step ? "step" : "call";
    const auto times = [&](const Runs& runs) -> const auto& {
      return by_step ? runs.front()->steps : runs.front()->calls;
    };
    take_series(times(a), times(b), out);
    out.in_order = !by_step && a.front()->calls.size() == b.front()->calls.size();
  }
  return out;
}

SampleSet step_samples(const std::vector<Profile>& a, const std::vector<Profile>& b) {
  SampleSet out;
  if (a.size() >= kFewestRuns && b.size() >= kFewestRuns) {
    const auto means = [](const std::vector<Profile>& side) {
      std::vector<std::int64_t> of_runs;
      for (const Profile& run : side)
        if (!run.step_ns.empty()) of_runs.push_back(std::llround(mean_of(run.step_ns)));
      return series_of(std::move(of_runs));
    };
    out.unit = "run";
    out.a = means(a);
    out.b = means(b);
    return out;
  }
  out.unit = "step";
  const auto &steps_a = a.front().step_ns, &steps_b = b.front().step_ns;
  const bool few = steps_a.size() < kFewestSteps || steps_b.size() < kFewestSteps;
  if (!few || steps_a == steps_b) take_series(steps_a, steps_b, out);
  return out;
}

}  // namespace nsa::trace
