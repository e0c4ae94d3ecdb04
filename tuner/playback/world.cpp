// A script as structs. The schema has checked types and bounds before; here is the rest.
#include "playback/world.hpp"

#include <cstdlib>
#include <filesystem>

#include "playback/reading.hpp"

namespace nsa::tuner::playback {
namespace {

constexpr std::array kCycles{"honest", "none", "lying"};

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
      world.variants.push_back(read_variant(variant, world.variants));
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
