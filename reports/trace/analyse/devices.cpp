#include <algorithm>
#include <map>

#include "parts.hpp"

namespace nsa::trace {
namespace {

using StreamKey = std::pair<std::int64_t, std::uint32_t>;  // stream, process

std::optional<std::string> device_name(const Trace& trace, const DeviceKey& key) {
  for (const DeviceInfo& info : trace.devices)
    if (DeviceKey{info.part, info.id} == key) return info.name;
  return {};
}

std::map<StreamKey, OpIndices> by_stream(const TraceContext& context, const OpIndices& ops) {
  std::map<StreamKey, OpIndices> out;
  for (const std::uint32_t i : ops)
    out[{context.trace.ops[i].stream, context.trace.ops[i].process}].push_back(i);
  return out;
}

/// What a GPU loses: it is idle, or only moves data that others wait for.
std::int64_t lost_ns(const DeviceSummary& device) {
  return device.gpu.idle_ns + device.gpu.exposed_comm_ns;
}

}  // namespace

void add_devices(const TraceContext& context, Summary& out) {
  for (const auto& [key, ops] : ops_by_device(context, all_ops(context.trace))) {
    DeviceSummary row;
    row.part = key.first;
    row.device = key.second;
    row.name = device_name(context.trace, key);
    row.gpu = figures_on_device(context, ops);
    const std::map<StreamKey, OpIndices> streams = by_stream(context, ops);
    for (const auto& [stream, of_stream] : streams)
      row.streams.push_back(
          {stream.first, stream.second,
           streams.size() == 1 ? row.gpu : figures_on_device(context, of_stream)});
    out.devices.push_back(std::move(row));
  }
  if (out.devices.size() < 2) return;
  const auto worst = std::max_element(
      out.devices.begin(), out.devices.end(),
      [](const DeviceSummary& a, const DeviceSummary& b) { return lost_ns(a) < lost_ns(b); });
  out.worst_device = static_cast<std::size_t>(worst - out.devices.begin());
}

}  // namespace nsa::trace
