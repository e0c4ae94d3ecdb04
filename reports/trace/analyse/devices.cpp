#include <map>

#include "parts.hpp"

namespace nsa::trace {
namespace {

using StreamKey = std::pair<std::int64_t, std::uint32_t>;  // stream, process

struct OfDevice {
  OpIndices ops;
  std::map<StreamKey, OpIndices> streams;
};

using DeviceKey = std::pair<std::uint32_t, std::int32_t>;  // part, device

std::optional<std::string> device_name(const Trace& trace, const DeviceKey& key) {
  for (const DeviceInfo& info : trace.devices)
    if (DeviceKey{info.part, info.id} == key) return info.name;
  return {};
}

}  // namespace

void add_devices(const Context& context, Summary& out) {
  std::map<DeviceKey, OfDevice> devices;
  for (std::uint32_t i = 0; i < context.trace.ops.size(); ++i) {
    const GpuOp& op = context.trace.ops[i];
    OfDevice& device = devices[{context.trace.part_of(op.process), op.device}];
    device.ops.push_back(i);
    device.streams[{op.stream, op.process}].push_back(i);
  }
  for (const auto& [key, device] : devices) {
    DeviceSummary row;
    row.part = key.first;
    row.device = key.second;
    row.name = device_name(context.trace, key);
    row.gpu = figures_of(context, device.ops);
    for (const auto& [stream, ops] : device.streams)
      row.streams.push_back({stream.first, stream.second, figures_of(context, ops)});
    out.devices.push_back(std::move(row));
  }
}

}  // namespace nsa::trace
