#include "samples.hpp"

#include <algorithm>
#include <cmath>

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

std::int64_t mean_of(const std::int64_t* values, std::size_t count) {
  long double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += static_cast<long double>(values[i]);
  return static_cast<std::int64_t>(std::llround(sum / static_cast<long double>(count)));
}
std::int64_t mean_of(const std::vector<std::int64_t>& values) {
  return mean_of(values.data(), values.size());
}

using Runs = std::vector<const Samples*>;

bool all_there(const Runs& runs) {
  return std::all_of(runs.begin(), runs.end(), [](const Samples* s) { return s != nullptr; });
}

/// A run's mean over its steps, else over its calls.
std::vector<std::int64_t> run_means(const Runs& runs, bool by_step) {
  std::vector<std::int64_t> out;
  for (const Samples* run : runs) out.push_back(mean_of(by_step ? run->steps : run->calls));
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
    out.push_back(mean_of(series.data() + begin, end - begin));
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
    out.a = run_means(a, by_step);
    out.b = run_means(b, by_step);
  } else {
    out.unit = by_step ? "step" : "call";
    out.a = batch_means(by_step ? a.front()->steps : a.front()->calls);
    out.b = batch_means(by_step ? b.front()->steps : b.front()->calls);
    out.in_order = !by_step && a.front()->calls.size() == b.front()->calls.size();
  }
  return out;
}

SampleSet step_samples(const std::vector<Profile>& a, const std::vector<Profile>& b) {
  SampleSet out;
  const bool runs = a.size() >= kFewestRuns && b.size() >= kFewestRuns;
  out.unit = runs ? "run" : "step";
  const auto fill = [&](const std::vector<Profile>& side, std::vector<std::int64_t>& samples) {
    if (!runs) {
      samples = batch_means(side.front().step_ns);
      return;
    }
    for (const Profile& run : side)
      if (!run.step_ns.empty()) samples.push_back(mean_of(run.step_ns));
  };
  fill(a, out.a);
  fill(b, out.b);
  const bool few =
      !runs && (out.a.size() < kFewestSteps || out.b.size() < kFewestSteps) &&
      (a.front().step_ns.size() < kFewestSteps || b.front().step_ns.size() < kFewestSteps);
  if (few && out.a != out.b) out.a.clear(), out.b.clear();
  return out;
}

}  // namespace nsa::trace
