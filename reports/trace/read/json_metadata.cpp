#include "json_metadata.hpp"

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa::trace {
namespace {

std::optional<std::int64_t> integer_at(const Json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_number_integer()) return {};
  return at->get<std::int64_t>();
}

bool take(const std::string& key, const Json& value, Trace& trace) {
  if (key == "baseTimeNanoseconds") {
    if (!value.is_number_integer()) return false;
    trace.source.base_time_ns = value.get<std::int64_t>();
  } else if (key == "distributedInfo") {
    if (!value.is_object()) return false;
    trace.source.rank = integer_at(value, "rank");
    trace.source.world_size = integer_at(value, "world_size");
  } else if (key == "deviceProperties") {
    if (!value.is_array()) return false;
    for (const Json& device : value) {
      if (!device.is_object()) return false;
      const auto id = integer_at(device, "id");
      const auto name = device.find("name");
      if (!id || *id < 0 || *id > INT32_MAX || name == device.end() || !name->is_string())
        return false;
      trace.devices.push_back({static_cast<std::int32_t>(*id), name->get<std::string>()});
    }
  }
  return true;
}

}  // namespace

void take_metadata(const std::string& key, std::string_view value, const std::string& where,
                   std::uint64_t offset, Trace& trace) {
  if (key != "baseTimeNanoseconds" && key != "distributedInfo" && key != "deviceProperties") return;
  const std::string place = where + ": byte " + std::to_string(offset) + ": \"" + key + "\"";
  if (!take(key, parse_json(value, place), trace))
    throw InputError(place + " is not what a trace has there");
}

}  // namespace nsa::trace
