#include "cuda/memory/side_stream.hpp"

#include <cuda_runtime_api.h>

#include <map>
#include <memory>

#include "nsa/kernels/device_memory.hpp"
#include "nsa/kernels/stream.hpp"
#include "nsa/schemas/cuda_error.hpp"

namespace nsa::cuda {
namespace {

/// While another thread captures, CUDA refuses some calls in the default mode; to make a stream
/// adds nothing to any graph.
class DuringCaptures {
 public:
  DuringCaptures() { NSA_CUDA(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  ~DuringCaptures() { static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  DuringCaptures(const DuringCaptures&) = delete;
  DuringCaptures& operator=(const DuringCaptures&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

class SideStream {
 public:
  SideStream() : SideStream(DuringCaptures()) {}
  // At the end of a process the driver may be gone, and there is nobody to tell.
  ~SideStream() { static_cast<void>(cudaEventDestroy(reached_)); }
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;

  cudaStream_t stream() const { return stream_.get(); }
  void order(cudaStream_t first, cudaStream_t then) {
    NSA_CUDA(cudaEventRecord(reached_, first));
    NSA_CUDA(cudaStreamWaitEvent(then, reached_));
  }

 private:
  /// With its stream made while that is allowed.
  explicit SideStream(const DuringCaptures&) {
    NSA_CUDA(cudaEventCreateWithFlags(&reached_, cudaEventDisableTiming));
  }

  device::Stream stream_;
  cudaEvent_t reached_ = nullptr;  // a wait keeps the point that was recorded before it
};

/// One a thread: two threads' calls stay beside each other, and none records what the other's wait
/// is about to read.
SideStream& mine() {
  thread_local std::map<int, std::unique_ptr<SideStream>> of_device;
  auto& side = of_device[device::current_ordinal()];
  if (!side) side = std::make_unique<SideStream>();
  return *side;
}

}  // namespace

CUstream_st* fork_stream(CUstream_st* main) {
  SideStream& side = mine();
  side.order(main, side.stream());
  return side.stream();
}

void join_stream(CUstream_st* main) {
  SideStream& side = mine();
  side.order(side.stream(), main);
}

}  // namespace nsa::cuda
