// The allocators of a run on a device: what they hand out, and what they say they hold.
#include "gpu.hpp"
#include "nsa/kernels/run_allocator.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

/// 3 pieces of 64 MiB at one time, of 5 in all, written in stream order.
void check_peak(device::RunAllocator& allocator) {
  const device::Stream stream;
  std::vector<void*> held;
  for (int i = 0; i < 3; ++i) {
    held.push_back(allocator.allocate(64 * kMiB));
    CHECK(reinterpret_cast<std::uintptr_t>(held.back()) % 256 == 0);
    device::fill(held.back(), std::byte{0x5a}, 64 * kMiB, stream.get());
  }
  for (void* data : held) allocator.deallocate(data, 64 * kMiB);
  for (int i = 0; i < 2; ++i) allocator.deallocate(allocator.allocate(64 * kMiB), 64 * kMiB);
  CHECK(allocator.peak().allocated == 3 * 64 * kMiB);
  CHECK(allocator.peak().reserved >= 3 * 64 * kMiB);
}

}  // namespace

TEST_CASE("a run's allocators count what they hold at most", "[gpu]") {
  if (!gpu_or_skip()) return;
  check_peak(*device::make_malloc_allocator());
  check_peak(*device::make_pool_allocator(0));
  check_peak(*device::make_pool_allocator(256 * kMiB));
}

TEST_CASE("an allocator without room says so, and goes on", "[gpu]") {
  if (!gpu_or_skip()) return;
  const std::size_t more_than_all = device::memory_info().total_bytes * 2;
  for (const auto& allocator : {device::make_malloc_allocator(), device::make_pool_allocator(0)}) {
    CHECK_THROWS_AS(allocator->allocate(more_than_all), OutOfMemory);
    allocator->deallocate(allocator->allocate(kMiB), kMiB);
    CHECK(allocator->peak().allocated == kMiB);
  }
}
