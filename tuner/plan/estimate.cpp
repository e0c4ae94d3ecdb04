#include "plan/estimate.hpp"

#include <algorithm>

namespace nsa::tuner {
namespace {

/// What an ordinary, not a tuned, kernel reaches, and what no hardware of today exceeds.
struct Rates {
  double flop_per_s, bytes_per_s, launch_s, flush_s;
  double start_s;  // of a contest in a process: its part of starting a worker, its inputs
  double peak_flop_per_s, peak_bytes_per_s;
};

Rates rates_of(Backend backend, int multiprocessors) {
  const double units = std::max(1, multiprocessors);
  // The peaks are a multiple of what a whole machine has in 2026, caches included: whoever is
  // faster is not believed, so they have to hold for years.
  if (backend == Backend::cuda)
    return {.flop_per_s = units * 50e9,
            .bytes_per_s = 1e12,
            .launch_s = 10e-6,
            .flush_s = 100e-6,
            .start_s = 0.15,
            .peak_flop_per_s = 5e16,
            .peak_bytes_per_s = 1e14};
  return {.flop_per_s = units * 4e9,
          .bytes_per_s = 5e9,
          .launch_s = 2e-6,
          .flush_s = 5e-3,
          .start_s = 0.03,
          .peak_flop_per_s = 5e15,
          .peak_bytes_per_s = 1e14};
}

Rates rates_of(const Device& device) {
  return rates_of(device.backend, device.multiprocessors.value_or(1));
}

}  // namespace

double estimate_launch_s(const Description& description, const Device& device) {
  const Rates rates = rates_of(device);
  return rates.launch_s + description.flop / rates.flop_per_s +
         description.bytes / rates.bytes_per_s;
}

double estimate_contest_s(const Contest& contest, const MeasurePolicy& policy,
                          const Device& device) {
  const Rates rates = rates_of(device);
  double process_s = rates.start_s;
  const double slots = static_cast<double>(contest.described.size()) + (policy.control ? 1 : 0);
  for (const Description& description : contest.described) {
    const double launch_s = estimate_launch_s(description, device);
    const double sample_s = launch_s + (policy.cold ? rates.flush_s : 0);
    const double visit_s =
        std::clamp(policy.visit_target_s, sample_s,
                   std::max(sample_s, sample_s * static_cast<double>(policy.samples)));
    const double share = slots / static_cast<double>(contest.described.size());
    process_s += 2 * launch_s + share * 2 * static_cast<double>(policy.min_rounds) * visit_s;
  }
  return process_s * static_cast<double>(policy.processes);
}

double least_plausible_s(const Cost& cost, Backend backend) {
  constexpr double kCallS = 10e-9;  // to call anything and to come back
  const Rates rates = rates_of(backend, 1);
  return std::max({kCallS, cost.flop / rates.peak_flop_per_s, cost.bytes / rates.peak_bytes_per_s});
}

}  // namespace nsa::tuner
