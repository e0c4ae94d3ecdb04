// The state of one worker and its answers. Whatever a variant throws becomes a `failed` reply.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "nsa/probes/launch_counters.hpp"
#include "nsa/probes/probes.hpp"
#include "nsa/schemas/worker.hpp"
#include "nsa/tuner/serve.hpp"
#include "worker/elements.hpp"
#include "worker/handle.hpp"

namespace nsa::tuner {

class Session {
 public:
  /// `device`: the only one that hello may ask for; empty = any.
  Session(std::string device, ServeOptions options);
  worker::Reply answer(const worker::Request& request);
  /// After hello.
  bool on_gpu() const noexcept { return device_.backend == Backend::cuda; }

 private:
  worker::Reply on(const worker::HelloRequest& request);
  worker::Reply on(const worker::DescribeRequest& request);
  worker::Reply on(const worker::PrepareRequest& request);
  worker::Reply on(const worker::VerifyRequest& request);
  worker::Reply on(const worker::MeasureRequest& request);
  worker::Reply on(const worker::TraceRequest& request);
  worker::Reply on(const worker::CountRequest& request);
  worker::Reply on(const worker::ReleaseRequest& request);
  worker::Reply on(const worker::ByeRequest& request);

  const Variant& runnable(const VariantId& id, const Problem& problem) const;
  std::shared_ptr<Inputs> inputs_of(const worker::PrepareRequest& request,
                                    std::span<const Stage> stages);
  Handle& handle_of(std::int64_t id);
  probes::LaunchTimer& timer_of(Timer timer);
  probes::CounterSession& counters();

  std::string only_device_;
  ServeOptions options_;
  Device device_;
  std::unique_ptr<Memory> memory_;
  std::optional<Router> router_;  // of the device, in the built-in order
  std::map<Timer, std::unique_ptr<probes::LaunchTimer>> timers_;
  std::unique_ptr<probes::CounterSession> counters_;     // between two requests to count only
  std::string no_counters_;                              // why there can be none; empty = not known
  std::map<std::string, std::weak_ptr<Inputs>> inputs_;  // by stage, problem, seed and file
  std::map<std::int64_t, std::unique_ptr<Handle>> handles_;
  std::int64_t next_handle_ = 1;
};

}  // namespace nsa::tuner
