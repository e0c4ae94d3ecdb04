#include "inject/range_timer.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>

namespace nsa::inject {
namespace {

constexpr std::size_t kMostWaiting = 100'000;  // ranges; a GPU that hangs ends none of them
constexpr std::int64_t kBaseWaitNs = 5'000'000, kGoodBaseNs = 20'000;
constexpr int kBaseTries = 3;

std::int64_t nanoseconds(float milliseconds) {
  return std::llround(static_cast<double>(milliseconds) * 1e6);
}

/// The driver's own threads, "cuda-EvtHandlr" or "cuda" and digits: functions that a program gives
/// to cudaLaunchHostFunc run there, and must not call CUDA.
bool is_of_driver() {
  std::array<char, 16> name{};
  pthread_getname_np(pthread_self(), name.data(), name.size());
  const std::string_view text = name.data();
  if (!text.starts_with("cuda")) return false;
  const std::string_view rest = text.substr(4);
  return rest.starts_with("-Evt") ||
         (rest.size() > 8 && rest.find_first_not_of("0123456789") == rest.npos);
}

thread_local bool thread_is_over = false;  // still there when other destructors of the thread run

}  // namespace

struct RangeTimer::Thread {
  ~Thread() { thread_is_over = true; }
  std::vector<Open> open;
  std::uint32_t id = static_cast<std::uint32_t>(syscall(SYS_gettid));
  bool of_driver = is_of_driver();
  bool inside = false;  // of a call of ours: what it makes another tool do is not the program's
};

/// Null when the thread's own variables are gone: it is about to end.
RangeTimer::Thread* RangeTimer::this_thread() {
  if (thread_is_over) return nullptr;
  thread_local Thread thread;
  return &thread;
}

void RangeTimer::append_marker(spool::MarkerWhat what, std::uint32_t name) {
  spool::SpoolMarker marker;
  marker.at_ns = monotonic_now_ns();
  marker.what = what;
  marker.name = name;
  marker.thread = this_thread()->id;
  spool_.append(marker);
}

/// The calling thread's context; 0 without one.
RangeTimer::ContextId RangeTimer::current_context() {
  CUcontext handle = nullptr;
  ContextId id = 0;
  if (driver_.current(&handle) != CUDA_SUCCESS || !handle ||
      driver_.context_id(handle, &id) != CUDA_SUCCESS)
    return 0;
  {
    const std::lock_guard lock(mutex_);
    if (contexts_.contains(id)) return id;
  }
  CudaContext context;
  context.place.handle = handle;
  context.usable = driver_.device(&context.place.device) == CUDA_SUCCESS &&
                   HeldPrimary(driver_, context.place.device).is(handle, id);
  const std::lock_guard lock(mutex_);
  contexts_.try_emplace(id, std::move(context));
  return id;
}

/// An event in the default stream would break a capture that has to wait for that stream. (One that
/// another thread begins at this very moment is not seen.)
bool RangeTimer::can_mark() const {
  auto status = CU_STREAM_CAPTURE_STATUS_NONE;
  return driver_.is_capturing(CU_STREAM_LEGACY, &status) == CUDA_SUCCESS &&
         status == CU_STREAM_CAPTURE_STATUS_NONE;
}

/// One that was used before, or a new one; null where the context is not for us.
CUevent RangeTimer::take_event(ContextId id) {
  {
    const std::lock_guard lock(mutex_);
    const auto at = contexts_.find(id);
    if (at == contexts_.end() || !at->second.usable) return nullptr;
    std::vector<CUevent>& free = at->second.free;
    if (!free.empty()) {
      const CUevent event = free.back();
      free.pop_back();
      return event;
    }
  }
  CUevent event = nullptr;
  return driver_.create_event(&event, CU_EVENT_DEFAULT) == CUDA_SUCCESS ? event : nullptr;
}

void RangeTimer::give_back(ContextId id, CUevent event) {
  const std::lock_guard lock(mutex_);
  if (const auto at = contexts_.find(id); at != contexts_.end()) at->second.free.push_back(event);
}

/// An event that is recorded now, in the current context; null where that cannot be.
CUevent RangeTimer::mark(ContextId id) {
  if (!can_mark()) return nullptr;
  const CUevent event = take_event(id);
  if (!event) return nullptr;
  const CUresult result = driver_.record_event(event, CU_STREAM_LEGACY);
  if (result == CUDA_SUCCESS) return event;
  if (result != CUDA_ERROR_INVALID_HANDLE && result != CUDA_ERROR_CONTEXT_IS_DESTROYED) {
    give_back(id, event);
    return nullptr;
  }
  // The context was reset, and came back under the same id: what is left of it is dead.
  const std::lock_guard lock(mutex_);
  contexts_[id].usable = false;
  return nullptr;
}

void RangeTimer::open(const void* domain, std::string_view name, bool timed) {
  Thread* const thread = this_thread();
  if (!thread) return;
  Open range{.domain = domain};
  if (timed && !thread->inside && !thread->of_driver) {
    thread->inside = true;
    range.name = spool_.text(name.empty() ? "(no name)" : name);
    append_marker(spool::MarkerWhat::begin, range.name);
    const DuringCaptures allowed(driver_);
    range.context = current_context();
    if (range.context != 0) range.begin = mark(range.context);
    thread->inside = false;
  }
  thread->open.push_back(range);
}

void RangeTimer::close(const void* domain) {
  Thread* const thread = this_thread();
  if (!thread) return;
  const auto last = std::find_if(thread->open.rbegin(), thread->open.rend(),
                                 [&](const Open& range) { return range.domain == domain; });
  if (last == thread->open.rend()) return;  // opened before we were there
  const Open range = *last;
  thread->open.erase(std::next(last).base());
  if (range.name == 0) return;
  thread->inside = true;
  {
    const DuringCaptures allowed(driver_);
    const ContextId context = current_context();
    CUevent end = nullptr;
    if (range.begin && context == range.context) end = mark(context);
    bool kept = end != nullptr;
    if (kept) {
      const std::lock_guard lock(mutex_);
      kept = ended_.size() < kMostWaiting;
      if (kept) ended_.push_back({range, end, thread->id});
    }
    if (!kept) {
      if (range.begin) give_back(range.context, range.begin);
      if (end) give_back(context, end);
      // Where there was no context at all there was no GPU for it to use.
      if (range.context != 0 || context != 0) ++left_out_;
    }
  }
  append_marker(spool::MarkerWhat::end, 0);
  thread->inside = false;
}

/// False where the GPU does not get to it soon: our stream may share a queue with the program's.
bool RangeTimer::set_base(Base& base) {
  if (!base.stream && driver_.create_stream(&base.stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS) {
    base.stream = nullptr;
    return false;
  }
  if (!base.event && driver_.create_event(&base.event, CU_EVENT_DEFAULT) != CUDA_SUCCESS) {
    base.event = nullptr;
    return false;
  }
  for (int i = 0; i < kBaseTries; ++i) {
    const std::int64_t before = monotonic_now_ns();
    if (driver_.record_event(base.event, base.stream) != CUDA_SUCCESS) return false;
    std::int64_t after = before;
    while (driver_.query_event(base.event) != CUDA_SUCCESS) {
      after = monotonic_now_ns();
      if (after - before > kBaseWaitNs) return false;
    }
    after = monotonic_now_ns();
    base.at_ns = before + (after - before) / 2;
    if (after - before < kGoodBaseNs) break;
  }
  return true;
}

bool RangeTimer::write(CUdevice device, const Base& base, const Ended& ended) {
  float since = 0, lasted = 0;
  if (driver_.elapsed(&since, ended.range.begin, base.event) != CUDA_SUCCESS ||
      driver_.elapsed(&lasted, ended.range.begin, ended.end) != CUDA_SUCCESS)
    return false;
  spool::SpoolGpuRange record;
  record.start_ns = base.at_ns - nanoseconds(since);
  record.end_ns = record.start_ns + std::max<std::int64_t>(0, nanoseconds(lasted));
  record.name = ended.range.name;
  record.thread = ended.thread;
  record.device = device;
  spool_.append(record);
  return true;
}

/// How many of them have no time.
std::size_t RangeTimer::collect_context(ContextId id, const std::vector<Ended>& of_context,
                                        std::vector<Ended>& waiting) {
  Place place;
  {
    const std::lock_guard lock(mutex_);
    place = contexts_[id].place;
  }
  const HeldPrimary held(driver_, place.device);
  if (!held.is(place.handle, id)) {
    bases_.erase(id);
    const std::lock_guard lock(mutex_);
    contexts_.erase(id);
    return of_context.size();
  }
  Base& base = bases_[id];
  std::vector<CUevent> free;
  std::size_t lost = 0;
  // They end in about the order in which they were marked: after the first that waits all do.
  bool waits = !set_base(base);
  for (const Ended& ended : of_context) {
    const CUresult state = waits ? CUDA_ERROR_NOT_READY : driver_.query_event(ended.end);
    waits = state == CUDA_ERROR_NOT_READY;
    if (waits) {
      waiting.push_back(ended);
    } else if (state == CUDA_SUCCESS && write(place.device, base, ended)) {
      free.insert(free.end(), {ended.range.begin, ended.end});
    } else {
      ++lost;
    }
  }
  for (const CUevent event : free) give_back(id, event);
  return lost;
}

std::size_t RangeTimer::collect() {
  const DuringCaptures allowed(driver_);
  std::map<ContextId, std::vector<Ended>> by_context;
  {
    const std::lock_guard lock(mutex_);
    for (const Ended& ended : ended_) by_context[ended.range.context].push_back(ended);
    ended_.clear();
  }
  std::vector<Ended> waiting;
  for (const auto& [id, of_context] : by_context)
    left_out_ += collect_context(id, of_context, waiting);
  const std::lock_guard lock(mutex_);
  ended_.insert(ended_.begin(), waiting.begin(), waiting.end());
  return ended_.size();
}

void RangeTimer::give_up() {
  const std::lock_guard lock(mutex_);
  left_out_ += ended_.size();
  ended_.clear();
}

}  // namespace nsa::inject
