#include "recording.hpp"

namespace nsa::trace {
namespace {

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json to_json(const Totals& t) {
  return {{"complete", t.complete},
          {"launches", or_null(t.launches)},
          {"recorded", t.recorded},
          {"dropped", t.dropped},
          {"lost", t.lost},
          {"outside", t.outside},
          {"torn_bytes", t.torn_bytes}};
}

Json to_json(const ProcessInfo& p, const std::vector<std::string>& pids) {
  Json notes = Json::array();
  for (const Note& note : p.notes) notes.push_back({{"what", note.what}, {"text", note.text}});
  return {{"pids", pids},
          {"pid", p.pid},
          {"part", p.part},
          {"rank", or_null(p.rank)},
          {"world_size", or_null(p.world_size)},
          {"metadata", Json(p.metadata)},
          {"totals", p.totals ? to_json(*p.totals) : Json(nullptr)},
          {"notes", std::move(notes)}};
}

/// Throws for a negative number, which get() would wrap around.
std::uint64_t count_of(const Json& j, const char* key) {
  return j.at(key).get_ref<const Json::number_unsigned_t&>();
}

Totals totals_of(const Json& j) {
  Totals t;
  t.complete = j.at("complete").get<bool>();
  if (!j.at("launches").is_null()) t.launches = count_of(j, "launches");
  t.recorded = count_of(j, "recorded");
  t.dropped = count_of(j, "dropped");
  t.lost = count_of(j, "lost");
  t.outside = count_of(j, "outside");
  t.torn_bytes = count_of(j, "torn_bytes");
  return t;
}

ProcessInfo process_of(const Json& j) {
  ProcessInfo p;
  p.pid = j.at("pid").get<std::string>();
  if (j.contains("part")) p.part = static_cast<std::uint32_t>(count_of(j, "part") & UINT32_MAX);
  if (!j.at("rank").is_null()) p.rank = j.at("rank").get<std::int64_t>();
  if (!j.at("world_size").is_null()) p.world_size = j.at("world_size").get<std::int64_t>();
  p.metadata = j.at("metadata").get<std::map<std::string, std::string>>();
  if (!j.at("totals").is_null()) p.totals = totals_of(j.at("totals"));
  for (const Json& note : j.at("notes"))
    p.notes.push_back({note.at("what").get<std::string>(), note.at("text").get<std::string>()});
  return p;
}

Json to_json(const Clocks& clocks) {
  return {{"alignment", to_string(clocks.alignment)},
          {"assumption", clocks.assumption},
          {"spread_ns", or_null(clocks.spread_ns)}};
}

Clocks clocks_of(const Json& j) {
  Clocks clocks;
  clocks.alignment = ClockAlignment::none;
  for (const ClockAlignment alignment : {ClockAlignment::one_clock, ClockAlignment::collectives,
                                         ClockAlignment::steps, ClockAlignment::absolute_times})
    if (j.at("alignment") == to_string(alignment)) clocks.alignment = alignment;
  clocks.assumption = j.at("assumption").get<std::string>();
  if (!j.at("spread_ns").is_null()) clocks.spread_ns = j.at("spread_ns").get<std::int64_t>();
  return clocks;
}

}  // namespace

Json recording_json(const Trace& trace, const OurMetadata& ours) {
  Json processes = Json::array(), devices = Json::array();
  for (std::size_t i = 0; i < trace.processes.size(); ++i)
    processes.push_back(to_json(trace.processes[i], ours.pids.at(i)));
  for (const auto& [pid, device] : ours.device_pids)
    devices.push_back({{"pid", pid}, {"device", device}});
  Json out{{"version", 1},
           {"origin_ns", ours.origin_ns},
           {"untimed_ops", trace.source.untimed_ops},
           {"holds_overhead", trace.source.holds_overhead},
           {"processes", std::move(processes)},
           {"device_pids", std::move(devices)}};
  if (trace.source.clocks) out["clocks"] = to_json(*trace.source.clocks);
  return out;
}

bool take_recording(const Json& value, Trace& trace, OurMetadata& ours) {
  try {
    if (value.at("version").get<int>() != 1) return false;
    ours.origin_ns = value.at("origin_ns").get<std::int64_t>();
    trace.source.untimed_ops += count_of(value, "untimed_ops");
    trace.source.holds_overhead = value.at("holds_overhead").get<bool>();
    if (value.contains("clocks")) trace.source.clocks = clocks_of(value.at("clocks"));
    for (const Json& process : value.at("processes")) {
      trace.processes.push_back(process_of(process));
      ours.pids.push_back(process.at("pids").get<std::vector<std::string>>());
    }
    for (const Json& device : value.at("device_pids"))
      ours.device_pids.push_back(
          {device.at("pid").get<std::string>(), device.at("device").get<std::int32_t>()});
  } catch (const Json::exception&) {
    return false;
  }
  return ours.origin_ns <= kMaxTimeNs && ours.origin_ns >= -kMaxTimeNs;
}

}  // namespace nsa::trace
