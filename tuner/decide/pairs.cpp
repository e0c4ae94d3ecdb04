#include "pairs.hpp"

#include <cmath>

#include "nsa/schemas/median.hpp"

namespace nsa::tuner {
namespace {

/// Arms whose clocks differ by more than this are compared in cycles too (docs/method.md).
constexpr double kSameClock = 0.02;

struct Visit {
  double log_ns = 0;
  std::optional<double> log_cycles;
};

std::optional<Visit> read_visit(const Measurement& row) {
  std::vector<double> times, cycles;
  for (const Sample& sample : row.samples) {
    if (sample.device_ns <= 0) continue;
    times.push_back(static_cast<double>(sample.device_ns));
    if (sample.cycles && *sample.cycles > 0) cycles.push_back(static_cast<double>(*sample.cycles));
  }
  if (times.empty() && row.median_ns && *row.median_ns > 0) times.push_back(*row.median_ns);
  if (times.empty()) return std::nullopt;
  Visit visit{std::log(median(times)), std::nullopt};
  if (cycles.size() == times.size()) visit.log_cycles = std::log(median(cycles));
  return visit;
}

}  // namespace

std::optional<double> Arm::log_clock() const {
  if (!log_cycles) return std::nullopt;
  return *log_cycles - log_ns;
}

std::optional<Arm> make_arm(const std::vector<const Measurement*>& visits) {
  double ns = 0, cycles = 0;
  std::size_t count = 0, with_cycles = 0;
  for (const Measurement* row : visits) {
    const std::optional<Visit> visit = read_visit(*row);
    if (!visit) continue;
    ++count;
    ns += visit->log_ns;
    if (!visit->log_cycles) continue;
    ++with_cycles;
    cycles += *visit->log_cycles;
  }
  if (count == 0) return std::nullopt;
  Arm arm{ns / static_cast<double>(count), std::nullopt};
  if (with_cycles == count) arm.log_cycles = cycles / static_cast<double>(count);
  return arm;
}

double log_ratio(const Arm& a, const Arm& b) {
  const double in_time = a.log_ns - b.log_ns;
  const std::optional<double> clock_a = a.log_clock(), clock_b = b.log_clock();
  if (!clock_a || !clock_b || std::abs(*clock_a - *clock_b) <= kSameClock) return in_time;
  const double in_cycles = *a.log_cycles - *b.log_cycles;
  if (in_time * in_cycles <= 0) return 0;
  return std::abs(in_cycles) < std::abs(in_time) ? in_cycles : in_time;
}

}  // namespace nsa::tuner
