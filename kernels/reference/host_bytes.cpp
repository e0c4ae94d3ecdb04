#include "nsa/kernels/host_bytes.hpp"

#include <sys/mman.h>

namespace nsa {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

bool is_large(std::size_t bytes) { return bytes >= 2 * kHugePage; }

}  // namespace

void* allocate_host(std::size_t bytes) {
  if (!is_large(bytes)) return ::operator new(bytes);
  void* const data = ::operator new (bytes, std::align_val_t{kHugePage});
  madvise(data, bytes, MADV_HUGEPAGE);  // a wish: without it the pages are small
  return data;
}

void deallocate_host(void* data, std::size_t bytes) noexcept {
  if (!is_large(bytes)) return ::operator delete(data);
  ::operator delete (data, std::align_val_t{kHugePage});
}

}  // namespace nsa
