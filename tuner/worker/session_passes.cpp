// What comes after the timed visits: seeing what a launch does, and what the hardware counts.
#include <fmt/format.h>

#include "nsa/probes/launch_trace.hpp"
#include "nsa/schemas/error.hpp"
#include "worker/failure.hpp"
#include "worker/session.hpp"

namespace nsa::tuner {
namespace {

/// A launch with its workspace as good as new; a graph holds its own.
Handle::Callback fresh_launch(Handle& handle, LaunchMode mode, const Device& device) {
  const Handle::Callback call = handle.callback(mode, device);
  if (mode == LaunchMode::graph) return call;
  return [](void* eager) {
    static_cast<Handle*>(eager)->reset();
    static_cast<Handle*>(eager)->launch();
  };
}

}  // namespace

worker::Reply Session::on(const worker::TraceRequest& request) {
  Handle& handle = handle_of(request.handle);
  set_beacon(fmt::format("tracing {}", handle.variant().name));
  counters_.reset();
  const auto launch = fresh_launch(handle, request.launch, device_);
  // Kept, so that all traces of this process share one session; it is no fresh process any more.
  if (device_.backend == Backend::cuda) timer_of(Timer::cupti);
  worker::TracedReply reply;
  reply.id = request.id;
  reply.trace = probes::trace_launch(device_, memory_->stream(), static_cast<int>(request.samples),
                                     launch, &handle);
  return reply;
}

/// Making one takes most of a second, so all requests in a row share it; and so do refusals.
probes::CounterSession& Session::counters() {
  if (!no_counters_.empty()) throw EnvironmentError(no_counters_);
  if (counters_) return *counters_;
  timers_.erase(Timer::cupti);  // CUPTI records activity or counts, not both
  try {
    counters_ = std::make_unique<probes::CounterSession>(device_, memory_->stream());
  } catch (const EnvironmentError& error) {
    no_counters_ = error.what();
    throw;
  }
  return *counters_;
}

worker::Reply Session::on(const worker::CountRequest& request) {
  Handle& handle = handle_of(request.handle);
  set_beacon(fmt::format("counting {}", handle.variant().name));
  const auto launch = fresh_launch(handle, request.launch, device_);
  worker::CountedReply reply;
  reply.id = request.id;
  try {
    reply.counters = counters().read(request.cold, launch, &handle);
  } catch (...) {
    counters_.reset();
    throw;
  }
  return reply;
}

}  // namespace nsa::tuner
