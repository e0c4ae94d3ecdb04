#include "cupti/buffers.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace nsa::probes::cupti {
namespace {

constexpr std::size_t kAlignment = 4096;

}  // namespace

BufferPool::BufferPool(std::size_t ahead, std::size_t most) : most_(most) {
  free_.reserve(most);
  for (; made_ < std::min(ahead, most); ++made_)
    if (std::uint8_t* buffer = make()) free_.push_back(buffer);
}

std::uint8_t* BufferPool::make() {
  auto* buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, kBufferBytes));
  if (buffer) std::memset(buffer, 0, kBufferBytes);
  return buffer;
}

std::uint8_t* BufferPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      std::uint8_t* buffer = free_.back();
      free_.pop_back();
      return buffer;
    }
    if (made_ == most_) return nullptr;
    ++made_;
  }
  return make();
}

void BufferPool::give_back(std::uint8_t* buffer, std::size_t used_bytes) {
  std::memset(buffer, 0, std::min(used_bytes, kBufferBytes));
  const std::lock_guard lock(mutex_);
  free_.push_back(buffer);
}

std::size_t BufferPool::made() const {
  const std::lock_guard lock(mutex_);
  return made_;
}

}  // namespace nsa::probes::cupti
