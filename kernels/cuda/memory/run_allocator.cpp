#include "nsa/kernels/run_allocator.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

#include "nsa/kernels/device_memory.hpp"
#include "nsa/kernels/stream.hpp"
#include "nsa/schemas/cuda_error.hpp"

namespace nsa::device {
namespace {

class MallocAllocator final : public RunAllocator {
 public:
  void* allocate(std::size_t bytes) override {
    void* data = device::allocate(bytes);
    now_ += bytes;
    peak_.allocated = std::max(peak_.allocated, now_);
    const std::size_t free = memory_info().free_bytes;
    peak_.reserved = std::max(peak_.reserved, free < free_before_ ? free_before_ - free : 0);
    return data;
  }
  void deallocate(void* data, std::size_t bytes) noexcept override {
    device::release(data);
    now_ -= bytes;
  }
  AllocatorUse peak() const override { return peak_; }

 private:
  std::size_t free_before_ = memory_info().free_bytes, now_ = 0;
  AllocatorUse peak_;
};

class PoolAllocator final : public RunAllocator {
 public:
  explicit PoolAllocator(std::uint64_t keep_bytes) {
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, current_ordinal()};
    NSA_CUDA(cudaMemPoolCreate(&pool_, &properties));
    const cudaError_t error =
        cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep_bytes);
    if (error != cudaSuccess) cudaMemPoolDestroy(pool_);
    check_cuda(error, "cudaMemPoolSetAttribute");
  }
  ~PoolAllocator() override { cudaMemPoolDestroy(pool_); }
  PoolAllocator(const PoolAllocator&) = delete;
  PoolAllocator& operator=(const PoolAllocator&) = delete;

  void* allocate(std::size_t bytes) override {
    void* data = nullptr;
    const cudaError_t error = cudaMallocFromPoolAsync(&data, bytes, pool_, stream_.get());
    if (error == cudaErrorMemoryAllocation) {
      cudaGetLastError();  // handled here: it must not surface in a later check
      throw OutOfMemory("the pool has no room for " + std::to_string(bytes) + " bytes, " +
                        std::to_string(memory_info().free_bytes) + " are free");
    }
    check_cuda(error, "cudaMallocFromPoolAsync");
    synchronize(stream_.get());
    return data;
  }
  void deallocate(void* data, std::size_t) noexcept override {
    cudaDeviceSynchronize();  // other streams may use it, as cudaFree waits for them
    cudaFreeAsync(data, stream_.get());
    cudaStreamSynchronize(stream_.get());
  }
  AllocatorUse peak() const override {
    return {high(cudaMemPoolAttrUsedMemHigh), high(cudaMemPoolAttrReservedMemHigh)};
  }

 private:
  std::size_t high(cudaMemPoolAttr attribute) const {
    std::uint64_t bytes = 0;
    NSA_CUDA(cudaMemPoolGetAttribute(pool_, attribute, &bytes));
    return bytes;
  }

  Stream stream_;
  cudaMemPool_t pool_ = nullptr;
};

}  // namespace

std::unique_ptr<RunAllocator> make_malloc_allocator() {
  return std::make_unique<MallocAllocator>();
}

std::unique_ptr<RunAllocator> make_pool_allocator(std::size_t keep_bytes) {
  return std::make_unique<PoolAllocator>(keep_bytes);
}

}  // namespace nsa::device
