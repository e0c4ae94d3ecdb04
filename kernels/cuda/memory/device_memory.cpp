#include "nsa/kernels/device_memory.hpp"

#include <cuda_runtime_api.h>

#include <string>

#include "nsa/schemas/cuda_error.hpp"

namespace nsa::device {
namespace {

class DeviceAllocator final : public Allocator {
 public:
  void* allocate(std::size_t bytes) override { return device::allocate(bytes); }
  void deallocate(void* data, std::size_t) noexcept override { device::release(data); }
};

std::string in_gb(std::size_t bytes) {
  const auto tenths = (bytes + 50'000'000) / 100'000'000;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " GB";
}

}  // namespace

bool built() noexcept { return true; }

void select(int ordinal) { NSA_CUDA(cudaSetDevice(ordinal)); }

int current_ordinal() {
  int ordinal = 0;
  NSA_CUDA(cudaGetDevice(&ordinal));
  return ordinal;
}

Device current() {
  const int ordinal = current_ordinal();
  cudaDeviceProp properties{};
  NSA_CUDA(cudaGetDeviceProperties(&properties, ordinal));
  Device device;
  device.id = "cuda:" + std::to_string(ordinal);
  device.backend = Backend::cuda;
  device.name = properties.name;
  device.compute_capability = properties.major * 10 + properties.minor;
  device.multiprocessors = properties.multiProcessorCount;
  device.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  device.l2_bytes = properties.l2CacheSize;
  return device;
}

CUstream_st* make_stream() {
  cudaStream_t stream = nullptr;
  NSA_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

void destroy_stream(CUstream_st* stream) noexcept {
  if (stream) cudaStreamDestroy(stream);
}

void synchronize(CUstream_st* stream) { NSA_CUDA(cudaStreamSynchronize(stream)); }

void* allocate(std::size_t bytes) {
  void* data = nullptr;
  const cudaError_t error = cudaMalloc(&data, bytes);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // handled here: it must not surface in a later check
    throw OutOfMemory("needs " + in_gb(bytes) + ", " + in_gb(memory_info().free_bytes) + " free");
  }
  check_cuda(error, "cudaMalloc");
  return data;
}

void release(void* data) noexcept { cudaFree(data); }

void copy_to_device(void* to, const void* from, std::size_t bytes, CUstream_st* stream) {
  NSA_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream));
}

void copy_to_host(void* to, const void* from, std::size_t bytes, CUstream_st* stream) {
  NSA_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream));
}

void copy_on_device(void* to, const void* from, std::size_t bytes, CUstream_st* stream) {
  NSA_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream));
}

void fill(void* to, std::byte value, std::size_t bytes, CUstream_st* stream) {
  NSA_CUDA(cudaMemsetAsync(to, std::to_integer<int>(value), bytes, stream));
}

MemoryInfo memory_info() {
  MemoryInfo info;
  NSA_CUDA(cudaMemGetInfo(&info.free_bytes, &info.total_bytes));
  return info;
}

Allocator& allocator() noexcept {
  static DeviceAllocator instance;
  return instance;
}

}  // namespace nsa::device
