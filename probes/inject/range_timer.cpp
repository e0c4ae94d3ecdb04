#include "inject/range_timer.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cmath>

#include "src/cuda_uuid.hpp"

namespace nsa::inject {
namespace {

constexpr std::size_t kMostWaiting = 100'000;  // ranges; a GPU that hangs ends none of them

std::uint32_t this_thread() { return static_cast<std::uint32_t>(syscall(SYS_gettid)); }

std::int64_t nanoseconds(float milliseconds) {
  return std::llround(static_cast<double>(milliseconds) * 1e6);
}

}  // namespace

std::vector<RangeTimer::Open>& RangeTimer::open_here() {
  thread_local std::vector<Open> ranges;
  return ranges;
}

void RangeTimer::append_marker(spool::MarkerWhat what, std::uint32_t name) {
  spool::SpoolMarker marker;
  marker.at_ns = monotonic_now_ns();
  marker.what = what;
  marker.name = name;
  marker.thread = this_thread();
  spool_.append(marker);
}

/// The calling thread's context, with a record of its device when it is new; null without one.
RangeTimer::Context* RangeTimer::current_context(unsigned long long& id) {
  CUcontext handle = nullptr;
  CUdevice device = 0;
  if (driver_.current(&handle) != CUDA_SUCCESS || !handle ||
      driver_.context_id(handle, &id) != CUDA_SUCCESS || driver_.device(&device) != CUDA_SUCCESS)
    return nullptr;
  const auto [at, is_new] = contexts_.try_emplace(id);
  if (!is_new) return &at->second;
  at->second.handle = handle;
  at->second.device = device;
  std::array<char, 256> name{};
  CUuuid uuid{};
  driver_.device_name(name.data(), static_cast<int>(name.size()) - 1, device);
  spool::SpoolDevice record;
  record.id = device;
  record.name = spool_.text(name.data());
  if (driver_.device_uuid(&uuid, device) == CUDA_SUCCESS)
    record.uuid = spool_.text(probes::uuid_text(uuid.bytes));
  spool_.append(record);
  return &at->second;
}

/// An event in the default stream would break a capture that has to wait for that stream. (One that
/// another thread begins at this very moment is not seen.)
bool RangeTimer::can_mark() const {
  auto status = CU_STREAM_CAPTURE_STATUS_NONE;
  return driver_.is_capturing(CU_STREAM_LEGACY, &status) == CUDA_SUCCESS &&
         status == CU_STREAM_CAPTURE_STATUS_NONE;
}

CUevent RangeTimer::mark(Context& context) {
  if (!can_mark()) return nullptr;
  CUevent event = nullptr;
  if (!context.free.empty()) {
    event = context.free.back();
    context.free.pop_back();
  } else if (driver_.create_event(&event, CU_EVENT_DEFAULT) != CUDA_SUCCESS) {
    return nullptr;
  }
  if (driver_.record_event(event, CU_STREAM_LEGACY) == CUDA_SUCCESS) return event;
  context.free.push_back(event);
  return nullptr;
}

void RangeTimer::open_on_gpu(Open& range) {
  const DuringCaptures allowed(driver_);
  const std::lock_guard lock(mutex_);
  if (Context* context = current_context(range.context)) range.begin = mark(*context);
}

void RangeTimer::open(std::string_view name, bool timed) {
  Open range;
  if (timed) {
    range.name = spool_.text(name.empty() ? "(no name)" : name);
    append_marker(spool::MarkerWhat::begin, range.name);
    open_on_gpu(range);
  }
  open_here().push_back(range);
}

void RangeTimer::close() {
  if (open_here().empty()) return;  // opened before we were there
  const Open range = open_here().back();
  open_here().pop_back();
  if (range.name == 0) return;
  {
    const DuringCaptures allowed(driver_);
    const std::lock_guard lock(mutex_);
    unsigned long long id = 0;
    Context* context = current_context(id);
    CUevent end = nullptr;
    if (range.begin && context && id == range.context && ended_.size() < kMostWaiting)
      end = mark(*context);
    if (end) ended_.push_back({range, end, this_thread()});
    // Without a context when it opened there was no GPU for it to use.
    if (!end && range.context != 0) ++left_out_;
    if (!end && range.begin) contexts_[range.context].free.push_back(range.begin);
  }
  append_marker(spool::MarkerWhat::end, 0);
}

/// A moment that both clocks know; false where the context is gone.
bool RangeTimer::set_base(unsigned long long id, Context& context) {
  unsigned long long now = 0;
  if (driver_.context_id(context.handle, &now) != CUDA_SUCCESS || now != id ||
      driver_.push(context.handle) != CUDA_SUCCESS)
    return false;
  if (!context.stream &&
      driver_.create_stream(&context.stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS)
    context.stream = nullptr;
  if (!context.base && driver_.create_event(&context.base, CU_EVENT_DEFAULT) != CUDA_SUCCESS)
    context.base = nullptr;
  // Nothing but this ever goes to our stream, so that the event is over at once.
  const bool good = context.stream && context.base &&
                    driver_.record_event(context.base, context.stream) == CUDA_SUCCESS &&
                    driver_.wait_for_event(context.base) == CUDA_SUCCESS;
  context.base_ns = monotonic_now_ns();
  CUcontext popped = nullptr;
  driver_.pop(&popped);
  return good;
}

void RangeTimer::write(const Context& context, const Ended& ended) {
  float since = 0, lasted = 0;
  if (driver_.elapsed(&since, ended.range.begin, context.base) != CUDA_SUCCESS ||
      driver_.elapsed(&lasted, ended.range.begin, ended.end) != CUDA_SUCCESS) {
    ++left_out_;
    return;
  }
  spool::SpoolGpuRange record;
  record.start_ns = context.base_ns - nanoseconds(since);
  record.end_ns = record.start_ns + nanoseconds(lasted);
  record.name = ended.range.name;
  record.thread = ended.thread;
  record.device = context.device;
  spool_.append(record);
}

void RangeTimer::collect() {
  const DuringCaptures allowed(driver_);
  const std::lock_guard lock(mutex_);
  std::vector<Ended> waiting;
  std::map<unsigned long long, bool> lives;
  for (const Ended& ended : ended_) {
    const unsigned long long id = ended.range.context;
    Context& context = contexts_[id];
    const auto [at, is_new] = lives.try_emplace(id, false);
    if (is_new) at->second = set_base(id, context);
    const CUresult state = at->second ? driver_.query_event(ended.end) : CUDA_ERROR_INVALID_CONTEXT;
    if (state == CUDA_ERROR_NOT_READY) {
      waiting.push_back(ended);
    } else if (state == CUDA_SUCCESS) {
      write(context, ended);
      context.free.insert(context.free.end(), {ended.range.begin, ended.end});
    } else {
      ++left_out_;
    }
  }
  ended_ = std::move(waiting);
}

std::uint64_t RangeTimer::left_out() const {
  const std::lock_guard lock(mutex_);
  return left_out_;
}

}  // namespace nsa::inject
