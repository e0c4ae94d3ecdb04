#include "training/upload.hpp"

#include <cuda_runtime_api.h>

#include <array>

#include "nsa/schemas/cuda_error.hpp"

namespace nsa::training {
namespace {

/// Pinned bytes, and when the device has read them.
class Room {
 public:
  explicit Room(std::size_t bytes) {
    NSA_CUDA(cudaEventCreateWithFlags(&read_, cudaEventDisableTiming));
    const cudaError_t error = cudaMallocHost(&data_, bytes);
    if (error != cudaSuccess) cudaEventDestroy(read_);
    check_cuda(error, "cudaMallocHost");
  }
  ~Room() {
    cudaEventSynchronize(read_);
    cudaFreeHost(data_);
    cudaEventDestroy(read_);
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  char* wait() const {
    NSA_CUDA(cudaEventSynchronize(read_));  // at once where nothing was sent
    return static_cast<char*>(data_);
  }
  void send(void* to, std::size_t bytes, CUstream_st* stream) const {
    NSA_CUDA(cudaMemcpyAsync(to, data_, bytes, cudaMemcpyHostToDevice, stream));
    NSA_CUDA(cudaEventRecord(read_, stream));
  }

 private:
  cudaEvent_t read_ = nullptr;
  void* data_ = nullptr;
};

class CudaUpload final : public Upload {
 public:
  explicit CudaUpload(std::size_t bytes)
      : bytes_(bytes), rooms_{Room(bytes), Room(bytes), Room(bytes), Room(bytes)} {}
  std::span<char> next() override {
    at_ = (at_ + 1) % rooms_.size();
    return {rooms_[at_].wait(), bytes_};
  }
  void send(void* to, CUstream_st* stream) override { rooms_[at_].send(to, bytes_, stream); }

 private:
  std::size_t bytes_, at_ = 0;
  std::array<Room, 4> rooms_;
};

}  // namespace

std::unique_ptr<Upload> make_cuda_upload(std::size_t bytes) {
  return std::make_unique<CudaUpload>(bytes);
}

}  // namespace nsa::training
