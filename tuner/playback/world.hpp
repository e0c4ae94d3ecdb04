// A world with a known truth, as playback.schema.json describes it. Plain structs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "nsa/schemas/device.hpp"
#include "nsa/schemas/types.hpp"
#include "playback/recorded.hpp"
#include "playback/world.hpp"

namespace nsa::tuner::playback {

struct Term {
  double ns = 0;  // at length 1
  double order = 1;
};
/// launch_ns + sum of ns * length^order.
struct Terms {
  double launch_ns = 0;
  std::vector<Term> terms;
};
/// (tokens, ns), ascending, joined by straight lines on logarithmic axes.
struct Points {
  std::vector<std::pair<double, double>> points;
};
/// Time over that of an earlier variant: `factor` at each crossing, and between them a zigzag of
/// `slope_percent` an octave.
struct Relative {
  std::size_t base = 0;  // index of that variant
  double factor = 1;
  double slope_percent = 0;
  std::vector<double> crossings;  // tokens, ascending
};
using Curve = std::variant<Terms, Points, Relative>;

struct Tile {
  std::int64_t size = 1;  // tokens
  double remainder_factor = 1;
};

enum class FaultKind : std::uint8_t {
  crash,
  hang,
  bad_reply,
  refuse,
  out_of_memory,
  wrong,
  too_fast,
  device_over_host,
  too_few_samples,
  same_handle,
  twice
};
enum class Request : std::uint8_t { describe, prepare, verify, measure };

struct Fault {
  FaultKind kind = FaultKind::crash;
  Request at = Request::measure;
  std::int64_t from = 0;           // tokens
  std::optional<std::int64_t> to;  // first length beyond
  std::int64_t after = 0;          // launches of the process
};

struct PlayedVariant {
  std::string name, source_hash;
  std::map<std::string, double> order;  // by axis, as declared
  Curve time;
  double ripple = 0;  // sigma
  std::optional<Tile> tile;
  double clock_sensitivity = 1;
  double process_sigma = 0, handle_sigma = 0;
  std::vector<Fault> faults;
};

struct Boost {
  std::int64_t launches = 0;  // of a process
  double faster = 0;          // share at the first
};
struct ClockStep {
  std::int64_t at = 0;  // launch of the device
  double factor = 1;
};
struct Throttled {
  std::int64_t from = 0, to = 0;  // launches of the device
  double factor = 0.57;
  std::string reason = "sw_power_cap";
};
struct Correlated {
  double sigma = 0, lag1 = 0;
};
enum class Cycles : std::uint8_t { honest, none, lying };

struct ClockModel {
  double base_mhz = 1980;
  std::optional<Boost> boost;
  double drift_percent = 0;  // with every 1,000 launches of the device
  std::vector<ClockStep> steps;
  std::vector<Throttled> throttled;
  std::optional<Correlated> correlated;
  Cycles cycles = Cycles::honest;
  bool reported = true;
};

struct Outliers {
  double share = 0, factor = 1;
};
struct Recorded {
  std::vector<Series> series;
  std::int64_t clock_window = 5;  // runs
};
struct NoiseModel {
  double white_sigma = 0;
  std::optional<Outliers> outliers;
  std::optional<Recorded> recorded;
};

struct World {
  std::uint64_t seed = 0;
  std::string executor;
  Device device;
  Axis axis = Axis::seq_len;
  std::vector<std::string> stages;
  std::vector<PlayedVariant> variants;
  ClockModel clock;
  NoiseModel noise;
  std::string state_file;  // "" = none
  bool verifies = false, simulated = true;
};

/// InputError "<where>: /pointer: ..." on anything that breaks the schema or its sense, and for a
/// recorded file that cannot be read. Paths in it are taken from `folder`.
World parse_world(std::string_view text, const std::string& where, const std::string& folder);
/// Reads and parses a script; paths in it are taken from its folder.
World load_world(const std::string& path);

/// ns of the curve alone, without ripple and tiles. `variant` is an index into world.variants.
double smooth_ns(const World& world, std::size_t variant, double length);
/// ns of a launch without noise: the curve at the end of the last tile, with remainder and ripple.
double true_ns(const World& world, std::size_t variant, std::int64_t length);

}  // namespace nsa::tuner::playback
