// LaunchMode::graph: a launch captured once in a CUDA graph and replayed.
#pragma once

#include <memory>
#include <stdexcept>

#include "nsa/schemas/device.hpp"

struct CUstream_st;

namespace nsa::probes {

/// The launch cannot be a graph (it waits for the device, say, or runs on a CPU): for a worker that
/// is the outcome `unsupported` with this reason.
class NotCapturable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A captured launch. Pointers that the launch used are part of it: they must stay valid.
/// One thread at a time, with the stream of the capture.
class GraphReplay {
 public:
  virtual ~GraphReplay() = default;
  /// Enqueues the whole launch on the stream of the capture.
  virtual void launch() = 0;
};

/// Calls `launch(context)` once under capture on `stream`, which must not be the null stream.
/// Throws NotCapturable when the capture fails, CudaError when anything else does.
std::unique_ptr<GraphReplay> capture_graph(const Device& device, CUstream_st* stream,
                                           void (*launch)(void*), void* context);

}  // namespace nsa::probes
