#include "metadata.hpp"

#include <algorithm>
#include <array>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"
#include "recording.hpp"

namespace nsa::trace {
namespace {

/// Nothing where it is no whole number of 64 bits with a sign.
std::optional<std::int64_t> integer_of(const Json& value) {
  if (!value.is_number_integer()) return {};
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) return {};
  return value.get<std::int64_t>();
}

std::optional<std::int64_t> integer_at(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at == object.end() ? std::nullopt : integer_of(*at);
}

bool take_devices(const Json& value, Trace& trace) {
  if (!value.is_array()) return false;
  for (const Json& device : value) {
    if (!device.is_object()) return false;
    const auto id = integer_at(device, "id");
    const auto name = device.find("name");
    if (!id || *id < 0 || *id > INT32_MAX || name == device.end() || !name->is_string())
      return false;
    const std::int64_t part = integer_at(device, "part").value_or(0);
    trace.devices.push_back({static_cast<std::int32_t>(*id), name->get<std::string>(),
                             static_cast<std::uint32_t>(part)});
  }
  return true;
}

bool take(const std::string& key, const Json& value, Trace& trace, OurMetadata& ours) {
  if (key == "baseTimeNanoseconds") {
    trace.source.base_time_ns = integer_of(value);
    return trace.source.base_time_ns.has_value();
  } else if (key == "distributedInfo") {
    if (!value.is_object()) return false;
    trace.source.rank = integer_at(value, "rank");
    trace.source.world_size = integer_at(value, "world_size");
  } else if (key == "deviceProperties") {
    return take_devices(value, trace);
  } else if (key == kRecordingKey) {
    return take_recording(value, trace, ours);
  }
  return true;
}

void keep(const std::string& key, std::string_view value, Trace& trace) {
  static constexpr std::array<std::string_view, 5> kWritten{
      "schemaVersion", "baseTimeNanoseconds", "displayTimeUnit", "traceName", kRecordingKey};
  const auto same = [&](const auto& kept) { return kept.first == key; };
  if (std::find(kWritten.begin(), kWritten.end(), key) != kWritten.end()) return;
  if (std::any_of(trace.other_metadata.begin(), trace.other_metadata.end(), same)) return;
  trace.other_metadata.emplace_back(key, value);
}

}  // namespace

void take_metadata(const std::string& key, std::string_view value, const std::string& where,
                   std::uint64_t offset, Trace& trace, OurMetadata& ours) {
  keep(key, value, trace);
  if (key != "baseTimeNanoseconds" && key != "distributedInfo" && key != "deviceProperties" &&
      key != kRecordingKey)
    return;
  const std::string place = where + ": byte " + std::to_string(offset) + ": \"" + key + "\"";
  if (!ours.known_keys.insert(key).second) throw InputError(place + " stands there twice");
  if (!take(key, parse_json(value, place), trace, ours))
    throw InputError(place + " is not what a trace has there");
}

}  // namespace nsa::trace
