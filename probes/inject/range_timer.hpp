// What NVTX ranges take on the GPU where CUPTI gives no records: two events each.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

#include "inject/driver.hpp"
#include "inject/spool_file.hpp"

namespace nsa::inject {

/// Events go to the default stream of the context that is current where a range opens and closes.
/// That stream waits for all others of the context but those that were made non-blocking, and they
/// for it: kernels of different streams that would run at once across a range's border no longer
/// do.
class RangeTimer {
 public:
  RangeTimer(SpoolFile& spool, const Driver& driver) : spool_(spool), driver_(driver) {}

  /// The calling thread opens a range; one that is not `timed` only keeps its place.
  void open(std::string_view name, bool timed);
  /// It closes the last that is open.
  void close();
  /// Writes the ranges that the GPU is through with. One thread at a time.
  void collect();
  /// Ranges that have no time on the GPU although they should: during a capture that has to wait
  /// for the default stream, of a context that is gone, or of too many that wait.
  std::uint64_t left_out() const;

 private:
  struct Open {
    std::uint32_t name = 0;  // 0: not timed
    unsigned long long context = 0;
    CUevent begin = nullptr;
  };
  struct Ended {
    Open range;
    CUevent end = nullptr;
    std::uint32_t thread = 0;
  };
  /// A context by its id: the handle of one that is gone may be that of another.
  struct Context {
    CUcontext handle = nullptr;
    std::int32_t device = 0;
    CUstream stream = nullptr;  // ours, for the moments that `base` is of
    CUevent base = nullptr;
    std::int64_t base_ns = 0;
    std::vector<CUevent> free;
  };
  static std::vector<Open>& open_here();
  void append_marker(spool::MarkerWhat what, std::uint32_t name);
  void open_on_gpu(Open& range);
  Context* current_context(unsigned long long& id);
  bool can_mark() const;
  CUevent mark(Context& context);
  bool set_base(unsigned long long id, Context& context);
  void write(const Context& context, const Ended& ended);

  SpoolFile& spool_;
  const Driver& driver_;
  mutable std::mutex mutex_;
  std::map<unsigned long long, Context> contexts_;
  std::vector<Ended> ended_;
  std::uint64_t left_out_ = 0;
};

}  // namespace nsa::inject
