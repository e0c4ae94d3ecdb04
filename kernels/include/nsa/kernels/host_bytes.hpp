// Bytes of tensors in host memory.
#pragma once

#include <cstddef>
#include <new>
#include <utility>
#include <vector>

namespace nsa {

/// In huge pages where the system has them; not cleared.
void* allocate_host(std::size_t bytes);
void deallocate_host(void* data, std::size_t bytes) noexcept;

/// For tensors of gigabytes: elements stay as they come, for who resizes writes all of them. One
/// thread that cleared 1.6 GB took longer than sixteen took to fill it.
template <class T>
struct HostAllocator {
  using value_type = T;
  HostAllocator() = default;
  template <class U>
  HostAllocator(const HostAllocator<U>&) noexcept {}
  T* allocate(std::size_t count) { return static_cast<T*>(allocate_host(count * sizeof(T))); }
  void deallocate(T* data, std::size_t count) noexcept { deallocate_host(data, count * sizeof(T)); }
  template <class U, class... Args>
  void construct(U* at, Args&&... args) {
    if constexpr (sizeof...(Args) == 0)
      ::new (static_cast<void*>(at)) U;
    else
      ::new (static_cast<void*>(at)) U(std::forward<Args>(args)...);
  }
  template <class U>
  bool operator==(const HostAllocator<U>&) const noexcept {
    return true;
  }
};

/// What `resize` adds has no value yet.
using HostBytes = std::vector<std::byte, HostAllocator<std::byte>>;

}  // namespace nsa
