#include "cupti/tracer.hpp"

#include <array>
#include <atomic>
#include <ctime>
#include <new>
#include <stdexcept>
#include <vector>

#include "cupti/buffers.hpp"
#include "cupti/call_names.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::probes::cupti {
namespace {

constexpr std::size_t kAhead = 8, kMost = 128;  // buffers: 32 MiB at once, 512 MiB at most

// CUPTI's callbacks carry nothing of ours, and buffers may come back after the tracer is gone.
BufferPool& pool() {
  static auto* pool = new BufferPool(kAhead, kMost);
  return *pool;
}
std::atomic<Tracer*> owner{nullptr};
std::atomic<int> in_callback{0};

struct NamedCall {
  CUpti_CallbackDomain domain;
  CUpti_CallbackId id;
};

/// Found once: a thousand names.
const std::vector<NamedCall>& noise_calls(const Api& api) {
  static const std::vector<NamedCall> calls = [&] {
    std::vector<NamedCall> found;
    constexpr CUpti_CallbackId kMostCalls = 2000;
    for (const auto domain : {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_DRIVER_API}) {
      for (CUpti_CallbackId id = 1; id < kMostCalls; ++id) {
        const char* name = nullptr;
        if (api.callback_name(domain, id, &name) != CUPTI_SUCCESS || !name) break;
        if (is_noise_call(plain_call_name(name))) found.push_back({domain, id});
      }
    }
    return found;
  }();
  return calls;
}

}  // namespace

std::uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

std::unique_ptr<Tracer> Tracer::open(RecordSink& sink, const Hooks& hooks) {
  std::unique_ptr<Tracer> tracer(new Tracer(sink));
  tracer->hooks_ = hooks;
  if (!tracer->api_.missing().empty()) throw EnvironmentError(tracer->api_.missing());
  Tracer* nobody = nullptr;
  if (!owner.compare_exchange_strong(nobody, tracer.get()))
    throw Held("another part of this program");
  tracer->subscribe();
  tracer->prepare();
  if (hooks.on_node) tracer->watch_nodes();
  return tracer;
}

void Tracer::prepare() {
  pool();
  // Once a process: registering the clock again spoils the records at the start of a session.
  static const bool kOnce = [this] {
    check(api_.set_thread_id_type(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM), "cuptiSetThreadIdType");
    std::uint8_t zeroed = 1;
    std::size_t size = sizeof zeroed;
    api_.set_attribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &zeroed);
    check(api_.register_timestamp(now_ns), "cuptiActivityRegisterTimestampCallback");
    return true;
  }();
  (void)kOnce;
  check(api_.register_callbacks(on_request, on_complete), "cuptiActivityRegisterCallbacks");
}

Tracer::~Tracer() {
  if (recording_) stop();
  if (subscriber_) api_.unsubscribe(subscriber_);
  Tracer* self = this;
  owner.compare_exchange_strong(self, nullptr);
  while (in_callback.load() != 0) continue;  // a buffer that is coming in now
  for (const Buffer& buffer : queue_) pool().give_back(buffer.bytes, buffer.valid_bytes);
}

void Tracer::check(CUptiResult result, const char* call) const {
  if (result == CUPTI_SUCCESS) return;
  throw EnvironmentError(std::string(call) + ": " + error_text(api_, result));
}

void Tracer::set(CUpti_ActivityKind kind, bool on) {
  const CUptiResult result = on ? api_.enable(kind) : api_.disable(kind);
  if (on) check(result, "cuptiActivityEnable");
}

/// After enabling the kinds, which switches all calls on again. Enabling the calls that are wanted
/// one by one, without the kinds, costs less, but works only for the first recording of a process:
/// once switched off so, they stay off.
void Tracer::leave_out_noise() {
  for (const NamedCall& call : noise_calls(api_)) {
    const auto enable = call.domain == CUPTI_CB_DOMAIN_RUNTIME_API ? api_.enable_runtime_call
                                                                   : api_.enable_driver_call;
    enable(call.id, 0);
  }
}

void Tracer::start(const Kinds& kinds) {
  kinds_ = kinds;
  recording_ = true;
  if (markers_) set(CUPTI_ACTIVITY_KIND_MARKER, true);
  if (kinds.overhead) set(CUPTI_ACTIVITY_KIND_OVERHEAD, true);
  if (kinds.memory) set(CUPTI_ACTIVITY_KIND_MEMORY2, true);
  if (kinds.copies) {
    set(CUPTI_ACTIVITY_KIND_MEMCPY, true);
    set(CUPTI_ACTIVITY_KIND_MEMCPY2, true);
    set(CUPTI_ACTIVITY_KIND_MEMSET, true);
  }
  if (kinds.synchronisation) {
    set(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, true);
    set(CUPTI_ACTIVITY_KIND_CUDA_EVENT, true);
  }
  set(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, true);
  if (kinds.calls) {
    set(CUPTI_ACTIVITY_KIND_RUNTIME, true);
    set(CUPTI_ACTIVITY_KIND_DRIVER, true);
    if (!kinds.noise_calls) leave_out_noise();
  }
  check(api_.enable_and_dump(CUPTI_ACTIVITY_KIND_DEVICE), "cuptiActivityEnableAndDump");
}

void Tracer::record_markers() {
  markers_ = true;
  if (recording_) set(CUPTI_ACTIVITY_KIND_MARKER, true);
}

void Tracer::stop() {
  if (!recording_) return;
  recording_ = false;
  for (const auto kind : {CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER,
                          CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                          CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET,
                          CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_CUDA_EVENT,
                          CUPTI_ACTIVITY_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_OVERHEAD,
                          CUPTI_ACTIVITY_KIND_MARKER, CUPTI_ACTIVITY_KIND_DEVICE})
    set(kind, false);
  flush(true);
}

void Tracer::flush(bool all) {
  // Never under our lock: the buffers come through on_complete, which takes it.
  api_.flush_all(all ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
  drain();
  count_dropped();
}

void Tracer::queue(const Buffer& buffer) {
  {
    const std::lock_guard lock(queue_mutex_);
    queue_.push_back(buffer);
  }
  if (hooks_.on_buffer) hooks_.on_buffer();
}

void Tracer::drain() {
  const std::lock_guard whole(drain_mutex_);
  std::vector<Buffer> buffers;
  {
    const std::lock_guard lock(queue_mutex_);
    buffers.swap(queue_);
  }
  for (const Buffer& buffer : buffers) {
    try {
      take(buffer);
    } catch (const std::bad_alloc&) {  // no memory for a text: the records of this buffer are lost
    }
    pool().give_back(buffer.bytes, buffer.valid_bytes);
  }
}

void Tracer::count_dropped() {
  std::size_t dropped = 0;
  if (api_.dropped_records(nullptr, 0, &dropped) != CUPTI_SUCCESS) return;  // reading resets it
  const std::lock_guard lock(mutex_);
  dropped_ += dropped;
}

void Tracer::keep(const Keep& keep) {
  const std::lock_guard lock(mutex_);
  keep_ = keep;
}

spool::SpoolTotals Tracer::totals() {
  const std::lock_guard lock(mutex_);
  spool::SpoolTotals totals = converter_.totals();
  totals.at_ns = static_cast<std::int64_t>(now_ns());
  totals.dropped = dropped_;
  return totals;
}

std::uint32_t Tracer::unfinished() {
  const std::lock_guard lock(mutex_);
  return converter_.unfinished();
}

std::uint32_t Tracer::unfinished_kernel() {
  const std::lock_guard lock(mutex_);
  return converter_.unfinished_kernel();
}

std::int64_t Tracer::last_end_ns() {
  const std::lock_guard lock(mutex_);
  return converter_.last_end_ns();
}

void Tracer::watch(CUpti_CallbackDomain domain, CUpti_CallbackId id, bool on) {
  check(api_.enable_callback(on, subscriber_, domain, id), "cuptiEnableCallback");
}

void Tracer::locked(const std::function<void()>& body) {
  const std::lock_guard lock(mutex_);
  body();
}

void Tracer::take(const Buffer& buffer) {
  const std::lock_guard lock(mutex_);
  converter_.convert(buffer.bytes, buffer.valid_bytes, keep_, sink_);
}

void Tracer::on_request(std::uint8_t** buffer, std::size_t* size, std::size_t* records) {
  *buffer = pool().take();
  *size = *buffer ? kBufferBytes : 0;
  *records = 0;  // as many as fit
}

void Tracer::on_complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                         std::size_t valid_bytes) {
  if (!buffer) return;
  in_callback.fetch_add(1);
  Tracer* const tracer = valid_bytes > 0 ? owner.load() : nullptr;
  if (tracer) tracer->queue({buffer, valid_bytes});
  in_callback.fetch_sub(1);
  if (!tracer) pool().give_back(buffer, valid_bytes);
}

}  // namespace nsa::probes::cupti
