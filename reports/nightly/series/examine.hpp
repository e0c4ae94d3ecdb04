// What one series says by itself, before it is compared with its neighbours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "found.hpp"
#include "nsa/nightly/judge.hpp"
#include "track.hpp"

namespace nsa::nightly {

/// A series with its levels, spikes and changes.
struct Examined {
  const Series* series = nullptr;
  const std::vector<std::int64_t>* ordinal = nullptr;  // of each night of the series
  Track track;
  double noise = 0;                  // from night to night; the timer's quantum at least
  double least_sd = 0;               // within a level: half of the noise, or the timer's quantum
  std::vector<double> smooth;        // data without spikes
  std::vector<std::size_t> spikes;   // data
  std::vector<Found> found;          // ascending
  std::size_t level_begin = 0;       // of the level that the last datum belongs to
  std::optional<Found> surprise;     // the last night, where the level before does not predict it
  std::optional<bool> confirmation;  // of the last alert, where it was measured again
  std::string unconfirmed;           // why it could not be

  const Night& night(std::size_t datum) const { return series->nights[track.nights[datum]]; }
  std::int64_t ordinal_of(std::size_t datum) const { return (*ordinal)[track.nights[datum]]; }
};

Examined examine(const Series& series, const std::vector<std::int64_t>& ordinal,
                 const Options& options);

}  // namespace nsa::nightly
