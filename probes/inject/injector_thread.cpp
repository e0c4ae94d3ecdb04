// The thread of the injected tracer: ten times a second it empties CUPTI's buffers into the spool,
// reads the clocks, and looks whether the GPU still ends anything. A kill loses one such period.
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "inject/driver.hpp"
#include "inject/hook/hook_ranges.hpp"
#include "inject/hook/python_stacks.hpp"
#include "inject/host_stacks.hpp"
#include "inject/injector.hpp"
#include "inject/ranges.hpp"
#include "inject/symbols.hpp"
#include "nsa/schemas/trace_request.hpp"

namespace nsa::inject {
namespace {

constexpr std::chrono::milliseconds kPeriod{100};
constexpr std::int64_t kMostToFinishNs = 2'000'000'000;

}  // namespace

void Injector::run() {
  pthread_setname_np(pthread_self(), "nsatune");
  std::unique_lock lock(wake_mutex_);
  auto next = std::chrono::steady_clock::now() + kPeriod;
  while (!stop_) {
    wake_.wait_until(lock, next, [&] { return stop_ || has_buffers_; });
    if (stop_) break;
    const bool is_time = std::chrono::steady_clock::now() >= next;
    has_buffers_ = false;
    lock.unlock();
    try {
      if (tracer_) tracer_->drain();
      if (is_time) tick();
    } catch (const std::exception& error) {
      spool_.note(spool::NoteWhat::error, error.what());
    }
    if (is_time) next = std::chrono::steady_clock::now() + kPeriod;
    lock.lock();
  }
}

void Injector::on_buffer() {
  {
    const std::lock_guard lock(wake_mutex_);
    has_buffers_ = true;
  }
  wake_.notify_all();
}

void Injector::tick() {
  follow_time();
  if (tracer_) {
    const std::lock_guard lock(phase_mutex_);
    if (ending_) end_tracing();
  }
  if (tracer_) tracer_->flush(false);
  if (timer_) timer_->collect();
  HookRanges::get().collect(spool_);
  PythonStacks::get().collect(spool_);
  if (!tracer_) note_devices();
  sample_devices();
  append_totals(false);
  if (tracer_ && request_.hang_ms > 0) watch_for_hang();
  spool_.flush();
}

void Injector::follow_time() {
  const Window& w = request_.window;
  if (w.kind != WindowKind::seconds) return;
  const std::int64_t past_ms = (monotonic_now_ns() - started_ns_) / 1'000'000 - w.skip_ms;
  const std::lock_guard lock(phase_mutex_);
  if (phase_ == Phase::done || past_ms < 0) return;
  const bool over = w.duration_ms > 0 && past_ms >= w.duration_ms;
  if (!over && phase_ == Phase::recording) return;
  enter(over ? Phase::done : Phase::recording, true);
}

/// Which CUPTI would tell.
void Injector::note_devices() {
  const auto known = spool_.devices();
  for (const UsedDevice& used : used_devices()) {
    if (known.contains(used.ordinal) || used.uuid.empty()) continue;
    spool::SpoolDevice device;
    device.id = used.ordinal;
    device.name = spool_.text(used.name);
    device.uuid = spool_.text(used.uuid);
    spool_.append(device);
  }
}

void Injector::sample_devices() {
  const auto count = [&](const char* name, std::int32_t device, std::optional<double> value) {
    if (!value) return;
    spool::SpoolCounter c;
    c.at_ns = monotonic_now_ns();
    c.value = *value;
    c.name = spool_.text(name);
    c.device = device;
    spool_.append(c);
  };
  for (const auto& [device, uuid] : spool_.devices()) {
    const ClockReading clocks = nvml_.clocks(uuid);
    count("sm_clock_mhz", device, clocks.sm_mhz);
    count("memory_clock_mhz", device, clocks.memory_mhz);
    count("power_watts", device, clocks.power_w);
    count("temperature_c", device, clocks.temperature_c);
    count("throttle_reasons", device, nvml_.throttle_bits(uuid));
    count("memory_used_bytes", device, nvml_.memory_used_bytes(uuid));
  }
}

void Injector::append_totals(bool is_final) {
  spool::SpoolTotals totals;
  if (tracer_) {
    totals = tracer_->totals();
  } else {
    totals.launches = spool::kNotCounted;
  }
  totals.at_ns = monotonic_now_ns();
  totals.lost = spool_.lost();
  if (is_final) totals.record.flags = spool::kSpoolFinal;
  spool_.append(totals);
}

void Injector::watch_for_hang() {
  const spool::SpoolTotals totals = tracer_->totals();
  const std::uint64_t ended = totals.kernels + totals.copies + totals.sets + totals.outside;
  const std::int64_t now = monotonic_now_ns();
  if (ended != ended_) {
    ended_ = ended;
    last_progress_ns_ = now;
    hang_noted_ = false;
    return;
  }
  if (hang_noted_ || !tracing_ || (now - last_progress_ns_) / 1'000'000 < request_.hang_ms) return;
  // Forces out what has no end yet: without such a record the GPU is idle, which is no hang.
  const std::uint32_t before = tracer_->unfinished();
  tracer_->flush(true);
  const spool::SpoolTotals after = tracer_->totals();
  ended_ = after.kernels + after.copies + after.sets + after.outside;
  last_progress_ns_ = now;
  if (tracer_->unfinished() == before) return;
  hang_noted_ = true;
  note_hang();
}

void Injector::note_hang() {
  std::string text = "nothing ended on the GPU for " + std::to_string(request_.hang_ms) + " ms\n";
  text += "last kernel: " + demangled(spool_.text_of(tracer_->unfinished_kernel())) + '\n';
  const std::string ranges = open_ranges();
  text += ranges.empty() ? "no range is open\n" : "open ranges:\n" + ranges;
  spool_.note(spool::NoteWhat::hang, text);
  spool_.flush();  // what follows can hang itself, where a thread holds the dynamic linker's lock
  spool_.note(spool::NoteWhat::hang, std::string(spool::kHostStacks) + '\n' + host_stacks());
  if (!request_.end_on_hang) return;
  append_totals(false);
  spool_.flush();
  _exit(124);
}

/// A GPU that hangs must not hold the program's end up.
void Injector::finish_timing() {
  const std::int64_t until_ns = monotonic_now_ns() + kMostToFinishNs;
  while (timer_->collect() > 0 && monotonic_now_ns() < until_ns)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  timer_->give_up();
  if (const std::uint64_t count = timer_->left_out(); count > 0)
    spool_.note(spool::NoteWhat::information,
                std::to_string(count) +
                    " ranges have no time on the GPU: a stream was captured, another device was "
                    "current at their end, their context is gone, or they did not end in time");
}

void Injector::finish() {
  {
    const std::lock_guard lock(wake_mutex_);
    if (stop_) return;
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  {
    const std::lock_guard lock(phase_mutex_);
    if (phase_ == Phase::recording) enter(Phase::done, true);
    if (tracer_) end_tracing();
  }
  if (tracer_) tracer_->flush(true);
  if (timer_) finish_timing();
  HookRanges::get().collect(spool_);
  PythonStacks::get().stop();
  PythonStacks::get().collect(spool_);
  note_hooks();
  note_stacks();
  anchor();
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", none)) {
    std::string name;
    std::getline(std::ifstream(entry.path() / "comm"), name);
    spool::SpoolThread thread;
    thread.thread = static_cast<std::uint32_t>(std::stoul(entry.path().filename().string()));
    thread.name = spool_.text(name);
    spool_.append(thread);
  }
  append_totals(true);
  spool_.flush();
}

}  // namespace nsa::inject
