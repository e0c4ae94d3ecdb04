#include "nsa/tuner/foreign_worker.hpp"

#include "nsa/schemas/error.hpp"

namespace nsa::tuner {
namespace {

Device completed(Device device, bool simulated, const std::string& host) {
  if (device.uuid.empty()) device.uuid = "worker-" + hash_hex(host + device.id + device.name);
  if (!simulated) return device;
  device.uuid = "simulated-" + device.uuid;
  device.name += " (simulated)";
  return device;
}

std::map<VariantId, worker::Orders> orders_of(const worker::HelloReply& hello) {
  std::map<VariantId, worker::Orders> orders;
  for (const worker::OfferedVariant& variant : hello.variants) {
    if (variant.order.empty()) continue;
    for (const Point& point : variant.points)
      orders[{variant.stages, variant.name, point}] = variant.order;
  }
  return orders;
}

}  // namespace

ForeignWorker foreign_worker(const std::string& command, const worker::HelloReply& hello,
                             const std::string& host) {
  return {command, hello.executor, hello.simulated, completed(hello.device, hello.simulated, host),
          orders_of(hello)};
}

Json to_spec(const ForeignWorker& worker) {
  Device device = worker.device;
  device.memory_free_bytes.reset();
  Json orders = Json::array();  // not by name in one object: there may be thousands of points
  for (const auto& [id, order] : worker.orders)
    orders.push_back({{"variant", to_string(id)}, {"order", order}});
  return {{"command", worker.command},
          {"executor", worker.executor},
          {"simulated", worker.simulated},
          {"device", device},
          {"orders", orders}};
}

std::optional<ForeignWorker> foreign_worker_of(const Run& run) {
  const Json spec = parse_json(run.spec_json, "spec of run " + run.id);
  const auto part = spec.find("worker");
  if (part == spec.end() || !part->is_object()) return std::nullopt;
  try {
    ForeignWorker worker{part->at("command"), part->at("executor"), part->at("simulated"), {}, {}};
    part->at("device").get_to(worker.device);
    for (const Json& entry : part->at("orders"))
      entry.at("order").get_to(
          worker.orders[parse_variant_id(entry.at("variant").get<std::string>())]);
    return worker;
  } catch (const Json::exception& error) {
    throw InputError("run " + run.id + ": its worker cannot be read: " + error.what());
  }
}

}  // namespace nsa::tuner
