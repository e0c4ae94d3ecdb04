// What NVTX ranges take on the GPU where CUPTI gives no records: two events each.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

#include "inject/driver.hpp"
#include "inject/spool_file.hpp"

namespace nsa::inject {

/// Events go to the default stream of the context that is current where a range opens and closes;
/// it has to be a device's primary one, as the runtime's are. That stream waits for all others of
/// the context but those that were made non-blocking, and they for it: kernels of different streams
/// that would run at once across a range's border no longer do.
///
/// No lock is held during a call of the driver: it may wait for work of another thread.
class RangeTimer {
 public:
  RangeTimer(SpoolFile& spool, const Driver& driver) : spool_(spool), driver_(driver) {}

  /// The calling thread opens a range of an NVTX domain (null: the default one); one that is not
  /// `timed` only keeps its place.
  void open(const void* domain, std::string_view name, bool timed);
  /// It closes the last of that domain that is open.
  void close(const void* domain);
  /// Writes the ranges that the GPU is through with; how many wait. One thread at a time.
  std::size_t collect();
  /// Gives up those that wait.
  void give_up();
  /// Ranges that have no time on the GPU although they should: they lie in a capture that has to
  /// wait for the default stream, or across two contexts; their context is gone, or none of a
  /// device's own; too many waited.
  std::uint64_t left_out() const noexcept { return left_out_.load(); }

 private:
  using ContextId = unsigned long long;  // 0: none
  struct Open {
    const void* domain = nullptr;
    std::uint32_t name = 0;  // 0: not timed
    ContextId context = 0;
    CUevent begin = nullptr;
  };
  struct Ended {
    Open range;
    CUevent end = nullptr;
    std::uint32_t thread = 0;
  };
  struct Place {
    CUcontext handle = nullptr;
    CUdevice device = 0;
  };
  /// A context by its id: the handle of one that is gone may be that of another.
  struct CudaContext {
    Place place;
    bool usable = false;  // a device's primary one, and nobody reset it
    std::vector<CUevent> free;
  };
  /// A moment that both clocks know. For the thread that collects.
  struct Base {
    CUstream stream = nullptr;  // ours, for nothing but this
    CUevent event = nullptr;
    std::int64_t at_ns = 0;
  };
  struct Thread;
  static Thread* this_thread();

  void append_marker(spool::MarkerWhat what, std::uint32_t name);
  ContextId current_context();
  bool can_mark() const;
  CUevent mark(ContextId id);
  CUevent take_event(ContextId id);
  void give_back(ContextId id, CUevent event);
  std::size_t collect_context(ContextId id, const std::vector<Ended>& of_context,
                              std::vector<Ended>& waiting);
  bool set_base(Base& base);
  bool write(CUdevice device, const Base& base, const Ended& ended);

  SpoolFile& spool_;
  const Driver& driver_;
  std::mutex mutex_;  // of the two below
  std::map<ContextId, CudaContext> contexts_;
  std::vector<Ended> ended_;
  std::map<ContextId, Base> bases_;
  std::atomic<std::uint64_t> left_out_{0};
};

}  // namespace nsa::inject
