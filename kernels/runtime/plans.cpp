#include "plans.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "nsa/kernels/device_memory.hpp"

namespace nsa {
namespace {

Router make_router(const Plan& plan, Device device) {
  Router::Inputs inputs;
  inputs.device = std::move(device);
  inputs.api.variants.push_back(
      {Stage::attention, {{"attention"}, std::string(plan.prefill_mode), {}}});
  if (!plan.selected.empty()) {
    inputs.api.variants.push_back(
        {Stage::attend_selected, {{"attend_selected"}, std::string(plan.selected), {}}});
  }
  if (!plan.window.empty()) {
    inputs.api.variants.push_back(
        {Stage::attend_window, {{"attend_window"}, std::string(plan.window), {}}});
  }
  return Router(std::move(inputs));
}

/// Routers that were asked for, by device and plan.
class Routers {
 public:
  const Router& find(const Plan& plan, Backend backend) {
    const int ordinal = backend == Backend::cpu ? kCpu : device::current_ordinal();
    const std::lock_guard lock(mutex_);
    auto& router = made_[{ordinal, plan.name}];
    if (!router) {
      router = std::make_unique<Router>(
          make_router(plan, ordinal == kCpu ? Device{} : device::current()));
    }
    return *router;
  }

 private:
  static constexpr int kCpu = -1;
  std::mutex mutex_;
  std::map<std::pair<int, std::string_view>, std::unique_ptr<Router>> made_;
};

}  // namespace

const Router& router_of(const Plan& plan, Backend backend) {
  static Routers routers;
  return routers.find(plan, backend);
}

}  // namespace nsa
