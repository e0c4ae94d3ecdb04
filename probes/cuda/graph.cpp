#include "nsa/probes/graph.hpp"

#include <cuda_runtime_api.h>

#include <string>

#include "nsa/schemas/cuda_error.hpp"

namespace nsa::probes {
namespace {

class CudaGraph final : public GraphReplay {
 public:
  CudaGraph(cudaGraph_t graph, cudaStream_t stream) : graph_(graph), stream_(stream) {}
  ~CudaGraph() override {
    if (executable_) cudaGraphExecDestroy(executable_);
    cudaGraphDestroy(graph_);
  }
  void instantiate() {
    NSA_CUDA(cudaGraphInstantiate(&executable_, graph_, 0));
    NSA_CUDA(cudaGraphUpload(executable_, stream_));
  }
  void launch() override { NSA_CUDA(cudaGraphLaunch(executable_, stream_)); }

 private:
  cudaGraph_t graph_;
  cudaGraphExec_t executable_ = nullptr;
  cudaStream_t stream_;
};

/// Ends a capture that failed and clears its error, so that the stream is usable again.
void abandon_capture(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  cudaStreamEndCapture(stream, &graph);
  if (graph) cudaGraphDestroy(graph);
  cudaGetLastError();
}

/// Errors that only say that a call is not allowed while a stream is captured.
bool is_capture_error(int code) {
  return code >= cudaErrorStreamCaptureUnsupported && code <= cudaErrorStreamCaptureWrongThread;
}

}  // namespace

std::unique_ptr<GraphReplay> capture_graph(const Device& device, CUstream_st* stream,
                                           void (*launch)(void*), void* context) {
  if (device.backend != Backend::cuda)
    throw NotCapturable("graph launches need a CUDA device, not " + device.id);
  // Relaxed: a workspace that grows while the launch is captured may allocate.
  NSA_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  try {
    launch(context);
  } catch (const CudaError& error) {
    abandon_capture(stream);
    if (!is_capture_error(error.code)) throw;
    throw NotCapturable("the launch waits for the device: " + error.call + ": " + error.name);
  } catch (...) {
    abandon_capture(stream);
    throw;
  }
  cudaGraph_t graph = nullptr;
  if (const cudaError_t error = cudaStreamEndCapture(stream, &graph); error != cudaSuccess) {
    cudaGetLastError();
    throw NotCapturable(std::string("the capture failed: ") + cudaGetErrorString(error));
  }
  auto captured = std::make_unique<CudaGraph>(graph, stream);
  captured->instantiate();
  return captured;
}

}  // namespace nsa::probes
