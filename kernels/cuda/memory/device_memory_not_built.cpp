#include "nsa/kernels/device_memory.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::device {
namespace {

[[noreturn]] void refuse() {
  throw EnvironmentError(
      "this program was built without CUDA; build it where the toolkit is, or use --device cpu");
}

class NoAllocator final : public Allocator {
 public:
  void* allocate(std::size_t) override { refuse(); }
  void deallocate(void*, std::size_t) noexcept override {}
};

}  // namespace

bool built() noexcept { return false; }
void select(int) { refuse(); }
int current_ordinal() { refuse(); }
Device current() { refuse(); }
CUstream_st* make_stream() { refuse(); }
void destroy_stream(CUstream_st*) noexcept {}
void synchronize(CUstream_st*) { refuse(); }
void* allocate(std::size_t) { refuse(); }
void release(void*) noexcept {}
void copy_to_device(void*, const void*, std::size_t, CUstream_st*) { refuse(); }
void copy_to_host(void*, const void*, std::size_t, CUstream_st*) { refuse(); }
void copy_on_device(void*, const void*, std::size_t, CUstream_st*) { refuse(); }
void fill(void*, std::byte, std::size_t, CUstream_st*) { refuse(); }
MemoryInfo memory_info() { refuse(); }

Allocator& allocator() noexcept {
  static NoAllocator instance;
  return instance;
}

}  // namespace nsa::device
