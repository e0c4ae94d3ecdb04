#include <map>

#include "parts.hpp"

namespace nsa::trace {
namespace {

using StreamKey = std::pair<std::int64_t, std::uint32_t>;  // stream, process

struct OfDevice {
  OpIndices ops;
  std::map<StreamKey, OpIndices> streams;
};

std::optional<std::string> device_name(const Trace& trace, std::int32_t device) {
  for (const DeviceInfo& info : trace.devices)
    if (info.id == device) return info.name;
  return {};
}

}  // namespace

void add_devices(const Context& context, Summary& out) {
  std::map<std::int32_t, OfDevice> devices;
  for (std::uint32_t i = 0; i < context.trace.ops.size(); ++i) {
    const GpuOp& op = context.trace.ops[i];
    OfDevice& device = devices[op.device];
    device.ops.push_back(i);
    device.streams[{op.stream, op.process}].push_back(i);
  }
  for (const auto& [id, device] : devices) {
    DeviceSummary row;
    row.device = id;
    row.name = device_name(context.trace, id);
    row.gpu = figures_of(context, device.ops);
    for (const auto& [key, ops] : device.streams)
      row.streams.push_back({key.first, key.second, figures_of(context, ops)});
    out.devices.push_back(std::move(row));
  }
}

}  // namespace nsa::trace
