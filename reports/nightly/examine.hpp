// What one series says by itself, before it is compared with its neighbours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "last_night.hpp"
#include "nsa/nightly/judge.hpp"
#include "track.hpp"

namespace nsa::nightly {

/// What moved a level; the code, as long as nothing else explains it.
enum class Cause : std::uint8_t { code, machine, clock };

/// A change with what is needed to judge it further.
struct Found {
  Change change;
  std::size_t begin = 0, at = 0, end = 0;  // data of the old level, [begin, at), and the new one
  std::int64_t ordinal = 0;                // of its first night
  double size = 0;                         // new - old level, in data
  bool worse = false;
  Cause cause = Cause::code;
};

/// A series with its levels, spikes and changes.
struct Examined {
  const Series* series = nullptr;
  const std::vector<std::int64_t>* ordinal = nullptr;  // of each night of the series
  Track track;
  double least_sd = 0;              // within a level: half of the noise, or the timer's quantum
  std::vector<double> smooth;       // data without spikes
  std::vector<std::size_t> spikes;  // data
  std::vector<Found> found;         // ascending
  std::size_t level_begin = 0;      // of the level that the last datum belongs to
  std::optional<Surprise> surprise;
};

Examined examine(const Series& series, const std::vector<std::int64_t>& ordinal,
                 const Options& options);

}  // namespace nsa::nightly
