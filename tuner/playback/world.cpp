// A script as structs. The schema has checked types and bounds before; here is the rest.
#include "playback/world.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa::tuner::playback {
namespace {

template <class T>
void read(const Json& j, const char* key, T& out) {
  if (const auto found = j.find(key); found != j.end()) out = found->get<T>();
}
/// Calls `use` with the field, where it is there.
template <class Use>
void with(const Json& j, const char* key, Use use) {
  if (const auto found = j.find(key); found != j.end()) use(*found);
}
/// Calls `use` with each item of a list, where it is there, and its pointer.
template <class Use>
void each(const Json& j, const std::string& pointer, const char* key, Use use) {
  std::size_t i = 0;
  with(j, key, [&](const Json& list) {
    for (const Json& item : list) use(item, pointer + "/" + key + "/" + std::to_string(i++));
  });
}

/// The place of a name among the enumerators in order. The schema has refused all others.
template <class Enum, std::size_t N>
Enum named(const std::string& name, const std::array<const char*, N>& names) {
  const auto found = std::find(names.begin(), names.end(), name);
  expects(found != names.end(), "a name that the schema allows");
  return static_cast<Enum>(found - names.begin());
}
constexpr std::array kFaults{"crash",           "hang",        "bad_reply", "refuse",
                             "out_of_memory",   "wrong",       "too_fast",  "device_over_host",
                             "too_few_samples", "same_handle", "twice"};
constexpr std::array kRequests{"describe", "prepare", "verify", "measure"};
constexpr std::array kCycles{"honest", "none", "lying"};

template <class List>
void require_ascending(const List& lengths, const std::string& pointer) {
  for (std::size_t i = 1; i < lengths.size(); ++i) {
    if (!(lengths[i - 1] < lengths[i]))
      throw InputError(pointer + "/" + std::to_string(i) + ": lengths must ascend");
  }
}

Terms terms_of(const Json& j) {
  Terms curve;
  read(j, "launch_ns", curve.launch_ns);
  for (const Json& t : j.at("terms")) curve.terms.push_back({t.at("ns"), t.at("order")});
  if (curve.launch_ns == 0 && curve.terms.empty())
    throw InputError("/time: takes no time at all; give launch_ns or a term");
  return curve;
}

Points points_of(const Json& j) {
  Points curve;
  std::vector<double> lengths;
  for (const Json& p : j.at("points")) {
    curve.points.emplace_back(p.at(0), p.at(1));
    lengths.push_back(curve.points.back().first);
  }
  require_ascending(lengths, "/time/points");
  return curve;
}

Relative relative_of(const Json& j, const std::vector<PlayedVariant>& before) {
  Relative curve;
  const std::string base = j.at("relative_to");
  while (curve.base < before.size() && before[curve.base].name != base) ++curve.base;
  if (curve.base == before.size())
    throw InputError("/time/relative_to: no variant before it has that name");
  read(j, "factor", curve.factor);
  read(j, "slope_percent", curve.slope_percent);
  read(j, "crossings", curve.crossings);
  require_ascending(curve.crossings, "/time/crossings");
  if (curve.crossings.empty() != !j.contains("slope_percent"))
    throw InputError("/time: slope_percent and crossings go together");
  return curve;
}

Request usual_place(FaultKind kind) {
  switch (kind) {
    case FaultKind::wrong:
      return Request::verify;
    case FaultKind::refuse:
    case FaultKind::out_of_memory:
    case FaultKind::same_handle:
      return Request::prepare;
    default:
      return Request::measure;
  }
}

Fault fault_of(const Json& j) {
  Fault fault;
  fault.kind = named<FaultKind>(j.at("kind"), kFaults);
  fault.at = usual_place(fault.kind);
  with(j, "at", [&](const Json& at) { fault.at = named<Request>(at, kRequests); });
  read(j, "from", fault.from);
  with(j, "to", [&](const Json& to) { fault.to = to.get<std::int64_t>(); });
  read(j, "after", fault.after);
  return fault;
}

PlayedVariant variant_of(const Json& j, const std::vector<PlayedVariant>& before) {
  PlayedVariant v;
  read(j, "name", v.name);
  for (const PlayedVariant& other : before) {
    if (other.name == v.name) throw InputError("/name: a variant before it has that name");
  }
  read(j, "source_hash", v.source_hash);
  read(j, "order", v.order);
  const Json& time = j.at("time");
  if (time.contains("relative_to")) {
    v.time = relative_of(time, before);
  } else if (time.contains("points")) {
    v.time = points_of(time);
  } else if (time.contains("terms")) {
    v.time = terms_of(time);
  } else {
    throw InputError("/time: needs terms, points or relative_to");
  }
  read(j, "ripple", v.ripple);
  with(j, "tile", [&](const Json& tile) {
    read(tile, "size", v.tile.emplace().size);
    read(tile, "remainder_factor", v.tile->remainder_factor);
  });
  read(j, "clock_sensitivity", v.clock_sensitivity);
  read(j, "process_sigma", v.process_sigma);
  read(j, "handle_sigma", v.handle_sigma);
  with(j, "faults", [&](const Json& faults) {
    for (const Json& fault : faults) v.faults.push_back(fault_of(fault));
  });
  return v;
}

ClockModel clock_of(const Json& j) {
  ClockModel clock;
  read(j, "base_mhz", clock.base_mhz);
  with(j, "boost", [&](const Json& b) { clock.boost = {b.at("launches"), b.at("faster")}; });
  read(j, "drift_percent", clock.drift_percent);
  each(j, "/clock", "steps", [&](const Json& s, const std::string&) {
    clock.steps.push_back({s.at("at"), s.at("factor")});
  });
  each(j, "/clock", "throttled", [&](const Json& s, const std::string& here) {
    Throttled& stretch = clock.throttled.emplace_back();
    stretch.from = s.at("from");
    stretch.to = s.at("to");
    if (stretch.to <= stretch.from) throw InputError(here + "/to: is not above from");
    read(s, "factor", stretch.factor);
    read(s, "reason", stretch.reason);
  });
  with(j, "correlated", [&](const Json& c) { clock.correlated = {c.at("sigma"), c.at("lag1")}; });
  with(j, "cycles", [&](const Json& name) { clock.cycles = named<Cycles>(name, kCycles); });
  read(j, "reported", clock.reported);
  return clock;
}

/// A relative path, from the folder of the script; else from $NSATUNE_EXTERNAL_DATA.
std::string data_file(const std::string& path, const std::string& folder) {
  const auto beside = std::filesystem::path(folder) / path;
  const char* external = std::getenv("NSATUNE_EXTERNAL_DATA");
  if (std::filesystem::exists(beside) || !external) return beside.string();
  return (std::filesystem::path(external) / path).string();
}

NoiseModel noise_of(const Json& j, const std::string& folder) {
  NoiseModel noise;
  read(j, "white_sigma", noise.white_sigma);
  with(j, "outliers", [&](const Json& o) { noise.outliers = {o.at("share"), o.at("factor")}; });
  with(j, "recorded", [&](const Json& r) {
    const std::string path = data_file(r.at("file"), folder);
    noise.recorded.emplace().series = parse_recorded(read_text_file(path), path);
    read(r, "clock_window", noise.recorded->clock_window);
  });
  return noise;
}

Device device_of(const Json& j) {
  Device device;
  device.id = j.at("id");
  device.backend = *from_string<Backend>(j.at("backend").get<std::string>());
  device.name = j.at("name");
  read(j, "uuid", device.uuid);
  return device;
}

World world_of(const Json& j, const std::string& folder) {
  World world;
  world.device.name = "playback";
  read(j, "seed", world.seed);
  read(j, "executor", world.executor);
  with(j, "device", [&](const Json& device) { world.device = device_of(device); });
  with(j, "axis", [&](const Json& a) { world.axis = *from_string<Axis>(a.get<std::string>()); });
  read(j, "stages", world.stages);
  each(j, "", "variants", [&](const Json& variant, const std::string& here) {
    try {
      world.variants.push_back(variant_of(variant, world.variants));
    } catch (const InputError& error) {
      throw InputError(here + error.what());
    }
  });
  with(j, "clock", [&](const Json& clock) { world.clock = clock_of(clock); });
  with(j, "noise", [&](const Json& noise) { world.noise = noise_of(noise, folder); });
  with(j, "state", [&](const Json& file) {
    world.state_file = (std::filesystem::path(folder) / file.get<std::string>()).string();
  });
  read(j, "verifies", world.verifies);
  read(j, "simulated", world.simulated);
  return world;
}

}  // namespace

World parse_world(std::string_view text, const std::string& where, const std::string& folder) {
  const Json document = parse_json(text, where);
  validate_json(document, "playback", where);
  try {
    return world_of(document, folder);
  } catch (const InputError& error) {
    throw InputError(where + ": " + error.what());
  }
}

World load_world(const std::string& path) {
  return parse_world(read_text_file(path), path,
                     std::filesystem::path(path).parent_path().string());
}

}  // namespace nsa::tuner::playback
