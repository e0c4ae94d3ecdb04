// Buffers for CUPTI's records: made ahead and zeroed, because CUPTI asks for one inside of a launch
// call, where page faults and zeroing would show as launches that take milliseconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace nsa::probes::cupti {

inline constexpr std::size_t kBufferBytes = std::size_t{4} << 20;

class BufferPool {
 public:
  /// Makes `ahead` buffers now; never more than `most` in all.
  BufferPool(std::size_t ahead, std::size_t most);
  /// A zeroed buffer of kBufferBytes; null when `most` are in use: CUPTI then drops records and
  /// counts them.
  std::uint8_t* take();
  /// Zeroes the bytes that were used and keeps the buffer for the next. Buffers that CUPTI never
  /// gives back are never freed: it may still write to them.
  void give_back(std::uint8_t* buffer, std::size_t used_bytes);
  std::size_t made() const;

 private:
  static std::uint8_t* make();

  mutable std::mutex mutex_;
  std::vector<std::uint8_t*> free_;
  std::size_t made_ = 0, most_;
};

}  // namespace nsa::probes::cupti
