// What the program does, and which phase of the recording that means.
#include <unistd.h>

#include <limits>

#include "inject/driver.hpp"
#include "inject/hook/hook_ranges.hpp"
#include "inject/injector.hpp"
#include "inject/ranges.hpp"
#include "inject/symbols.hpp"

namespace nsa::inject {

namespace cupti = probes::cupti;

namespace {

bool fits_kernel(const char* mangled, const std::string& part) {
  const std::string name(mangled);
  return name.find(part) != name.npos || demangled(name).find(part) != name.npos;
}

}  // namespace

/// `waits`: the caller may wait for the devices, so that what was launched before the change is
/// over and what comes after it is whole. Under phase_mutex_.
void Injector::enter(Phase phase, bool waits) {
  if (phase == phase_ && phase != Phase::skipping) return;
  const Phase before = phase_;
  phase_ = phase;
  const bool was_recording = before == Phase::recording;
  if (was_recording) records_ = false;
  if (!tracer_) {
    if (phase == Phase::recording) mark(spool::MarkWhat::window_begin, steps_, "");
    if (was_recording) mark(spool::MarkWhat::window_end, steps_, "");
    return follow_phase();
  }
  if (phase == Phase::warming_up || phase == Phase::recording) begin_tracing();
  if (phase == Phase::warming_up) {
    keep_.from_ns = std::numeric_limits<std::int64_t>::max();
    tracer_->keep(keep_);
  }
  if (phase == Phase::recording) {
    if (waits && !was_recording) {
      wait_for_devices();
      tracer_->flush(true);  // what the warm-up left goes where it belongs
    }
    keep_.from_ns = monotonic_now_ns();
    keep_.calls_until_ns = std::numeric_limits<std::int64_t>::max();
    tracer_->keep(keep_);
    mark(spool::MarkWhat::window_begin, steps_, "");
  }
  if (phase == Phase::done || (phase == Phase::skipping && was_recording)) {
    keep_.calls_until_ns = monotonic_now_ns();
    tracer_->keep(keep_);
    if (was_recording) mark(spool::MarkWhat::window_end, steps_, "");
    if (waits) {
      end_tracing();
    } else {
      ending_ = true;  // the thread does it
    }
  }
  follow_phase();
}

void Injector::follow_phase() { records_ = phase_ == Phase::recording; }

void Injector::begin_tracing() {
  if (tracing_) return;
  try {
    const auto wanted = [this](const char* what) { return !request_.without.contains(what); };
    tracer_->start({.noise_calls = request_.all_calls,
                    .synchronisation = wanted("sync"),
                    .memory = wanted("memory"),
                    .overhead = wanted("overhead")});
    tracing_ = true;
  } catch (const std::exception& error) {
    spool_.note(spool::NoteWhat::error, error.what());
  }
}

void Injector::end_tracing() {
  ending_ = false;
  if (!tracing_) return;
  tracing_ = false;
  wait_for_devices();
  tracer_->stop();
}

/// Whether a range with that name begins or ends a step: one inside of another, as of a batch in
/// its step, does not.
bool Injector::bounds_step(std::string_view name) const {
  return is_step(name) && !is_open([this](std::string_view outer) { return is_step(outer); });
}

void Injector::range_begins(std::string_view name) {
  if (!bounds_step(name)) return;
  const std::lock_guard lock(phase_mutex_);
  if (marks_steps_elsewhere()) return;  // the range is recorded all the same
  step_source_ = StepSource::ranges;
  const std::int64_t index = steps_++;
  if (request_.window.kind == WindowKind::steps) enter(phase_of(request_.window, index), true);
  mark(spool::MarkWhat::step, index, name);
}

void Injector::range_opens(const void* domain, std::string_view name) {
  if (!timer_) return;
  bool timed = false;
  {
    const std::lock_guard lock(phase_mutex_);
    timed = phase_ == Phase::recording;
  }
  timer_->open(domain, name, timed);
}

void Injector::sends(std::string_view name, const Sent& sent) {
  if (!records()) return;
  spool::SpoolMessage message;
  message.at_ns = monotonic_now_ns();
  message.bytes = sent.bytes;
  message.communicator = sent.communicator;
  message.ranks = sent.ranks;
  message.name = spool_.text(name);
  message.thread = static_cast<std::uint32_t>(gettid());
  spool_.append(message);
}

void Injector::range_closes(const void* domain, std::string_view name) {
  if (timer_) timer_->close(domain);
  if (!bounds_step(name)) return;
  const std::lock_guard lock(phase_mutex_);
  if (marks_steps_elsewhere()) return;
  if (request_.window.kind == WindowKind::steps && phase_of(request_.window, steps_) == Phase::done)
    enter(Phase::done, true);
}

void Injector::on_node(const cupti::Tracer::NodeEvent& event) {
  if (event.node == 0) return;
  const std::lock_guard lock(nodes_mutex_);
  std::uint32_t range = 0;
  if (event.original != 0) {
    const auto known = node_ranges_.find(event.original);
    if (known != node_ranges_.end()) range = known->second;
  } else if (!node_ranges_.contains(event.node)) {  // else it is a copy that is known already
    range = spool_.text(innermost_range());
  }
  if (range == 0) return;
  node_ranges_[event.node] = range;
  spool::SpoolStage stage;
  stage.id = event.node;
  stage.of = spool::StageOf::graph_node;
  stage.stage = range;
  spool_.append(stage);
}

void Injector::on_call(const cupti::Tracer::CallEvent& event) {
  const bool of_driver = event.domain == CUPTI_CB_DOMAIN_DRIVER_API;
  const bool starts = of_driver && event.id == CUPTI_DRIVER_TRACE_CBID_cuProfilerStart;
  const bool stops = of_driver && event.id == CUPTI_DRIVER_TRACE_CBID_cuProfilerStop;
  if (starts || stops) return on_profiler_call(event, starts);
  // A call of the runtime makes one of the driver, which is no call of the program's.
  thread_local int depth = 0;
  if (!event.begins) {
    depth -= depth > 0;
    return;
  }
  if (depth++ > 0) return;
  if (request_.window.kind == WindowKind::calls) count_call(event);
  if (event.kernel && !request_.window.step_kernel.empty()) on_kernel(event);
}

void Injector::on_profiler_call(const cupti::Tracer::CallEvent& event, bool starts) {
  if (event.begins) return;
  const std::lock_guard lock(phase_mutex_);
  if (starts == (phase_ == Phase::recording)) return;
  // The thread switches CUPTI off a moment later: what is launched until then is cut by its id.
  if (starts) keep_.first_correlation = event.correlation;
  keep_.end_correlation = starts ? std::numeric_limits<std::uint32_t>::max() : event.correlation;
  enter(starts ? Phase::recording : Phase::skipping, false);
}

void Injector::count_call(const cupti::Tracer::CallEvent& event) {
  const std::int64_t index = calls_.fetch_add(1);
  const Window& w = request_.window;
  const Phase phase = phase_of(w, index);
  if (index > 0 && phase == phase_of(w, index - 1)) return;
  const std::lock_guard lock(phase_mutex_);
  enter_at_call(phase, event);
}

/// No wait is possible inside of a call: operations are cut by the ids of their calls.
void Injector::enter_at_call(Phase phase, const cupti::Tracer::CallEvent& event) {
  if (phase == phase_) return;
  if (phase == Phase::recording) keep_.first_correlation = event.correlation;
  if (phase == Phase::done) keep_.end_correlation = event.correlation;
  enter(phase, false);
}

/// A launch of the kernel that begins a step.
void Injector::on_kernel(const cupti::Tracer::CallEvent& event) {
  const std::lock_guard lock(phase_mutex_);
  const auto [at, added] = begins_step_.try_emplace(event.kernel, false);
  if (added) at->second = fits_kernel(event.kernel, request_.window.step_kernel);
  if (!at->second) return;
  step_source_ = StepSource::kernel;
  const std::int64_t index = steps_++;
  const bool was_recorded = records_;
  if (request_.window.kind == WindowKind::steps)
    enter_at_call(phase_of(request_.window, index), event);
  HookRanges::get().next_step(index, monotonic_now_ns(), was_recorded);
  mark(spool::MarkWhat::step, index, "step " + std::to_string(index));
}

}  // namespace nsa::inject
