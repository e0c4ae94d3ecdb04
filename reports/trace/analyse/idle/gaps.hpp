// Idle time of a device, gap by gap, and why: the one classification that all figures of idle time
// are sums of.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analyse/context.hpp"
#include "analyse/owners/host_at.hpp"

namespace nsa::trace {

/// As the members of IdleClasses.
enum class IdleClass : std::uint8_t {
  host_wait,
  kernel_wait,
  sync,
  blocking_call,
  profiler_overhead,
  other
};
const char* to_string(IdleClass cause);

/// All moments of a gap with one cause.
struct IdlePart {
  IdleClass cause;
  Doing doing;  // what the host did in them
  std::int64_t ns = 0;
};

/// A stretch of a gap with one cause.
struct IdlePiece {
  IdleClass cause;
  Doing doing;
  std::int64_t from_ns = 0, until_ns = 0;
};

struct IdleGap {
  std::int64_t start_ns = 0;
  std::uint32_t op = 0;           // that ends it, with its start
  std::vector<IdlePart> parts;    // which add up to it
  std::vector<IdlePiece> pieces;  // in time; only where there are samples to be counted in them
};

/// Calls `visit` for each gap between the operations of one device, in order. At each moment the
/// first of these holds: the recorder was at work; the thread was in a call in which the host
/// waits; CUDA was at work on its own account; the launch was pending; it is unknown; nothing was
/// launched, and the host did what it did. The thread is the one that launched the operation that
/// ends the gap; before that launch, where nothing of this thread was recorded, the one that
/// launched the operation before the gap.
void for_each_gap(const TraceContext& context, const OpIndices& ops,
                  const std::function<void(const IdleGap&)>& visit);

}  // namespace nsa::trace
