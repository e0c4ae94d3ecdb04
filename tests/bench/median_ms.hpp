// What the benches of a GPU print as a time.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "nsa/probes/probes.hpp"
#include "nsa/schemas/median.hpp"

namespace nsa {

/// Median device time of so many launches in milliseconds, each with cold caches.
inline double median_ms(probes::LaunchTimer& timer, int samples, void (*launch)(void*),
                        void* context) {
  std::vector<std::int64_t> ns;
  for (int i = 0; i < samples; ++i) {
    timer.flush_caches();
    ns.push_back(timer.time(launch, context).device_ns);
  }
  return static_cast<double>(median(std::move(ns))) * 1e-6;
}

}  // namespace nsa
