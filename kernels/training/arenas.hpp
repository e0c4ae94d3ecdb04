// What arenas lie on that do not allocate: memory that is there already, or none.
#pragma once

#include <cstdint>

#include "nsa/kernels/workspace.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::training {

/// Gives out one piece of memory, once.
class Piece final : public Allocator {
 public:
  Piece(void* data, std::size_t bytes) : data_(data), bytes_(bytes) {}
  void* allocate(std::size_t bytes) override {
    expects(!given_ && bytes <= bytes_, "a step that keeps what was predicted");
    given_ = true;
    return data_;
  }
  void deallocate(void*, std::size_t) noexcept override { given_ = false; }

 private:
  void* data_;
  std::size_t bytes_;
  bool given_ = false;
};

/// Addresses one after the other, without memory: for what only counts.
class Nowhere final : public Allocator {
 public:
  /// More than any step takes.
  static constexpr std::size_t kEndless = std::size_t{1} << 46;

  void* allocate(std::size_t bytes) override {
    constexpr std::uintptr_t kAlign = 256;
    const std::uintptr_t at = next_;
    next_ += (bytes + kAlign - 1) / kAlign * kAlign;
    return reinterpret_cast<void*>(at);  // NOLINT: never read or written
  }
  void deallocate(void*, std::size_t) noexcept override {}

 private:
  std::uintptr_t next_ = std::uintptr_t{1} << 40;
};

}  // namespace nsa::training
