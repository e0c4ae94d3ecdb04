// Cold caches on a CPU.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

namespace nsa::probes {

/// Most bytes that a flush streams on behalf of the last-level cache. A virtual machine may be
/// shown the whole socket's cache (480 MiB, say) of which it owns a small share; streaming twice
/// that would cost 200 ms a sample. So "cold" on a CPU means: the private caches of every core hold
/// nothing of the inputs, and of the last level at most what survives 64 MiB of other data.
inline constexpr std::int64_t kFlushBoundBytes = std::int64_t{64} << 20;

/// Bytes that each of `cores` threads streams: twice its private cache at least, and together twice
/// the last-level cache or the bound, whichever is less. Unknown sizes count as 2 MiB and the
/// bound.
std::int64_t flush_bytes_per_core(std::optional<std::int64_t> last_level_bytes,
                                  std::optional<std::int64_t> private_bytes, int cores);

/// Streams through a buffer of its own on every core.
class CpuFlush {
 public:
  CpuFlush(std::int64_t bytes_per_core, int cores);
  void run();

 private:
  std::int64_t bytes_per_core_;
  int cores_;
  std::unique_ptr<unsigned char[]> buffer_;
};

}  // namespace nsa::probes
