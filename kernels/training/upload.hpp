// How the bytes that the host makes for a step get to where the step reads them.
#pragma once

#include <memory>
#include <span>

#include "nsa/schemas/types.hpp"

struct CUstream_st;

namespace nsa::training {

/// Fill next(), then send(): the copy is enqueued and the call returns. On a GPU the bytes are in
/// pinned memory, in several rooms, so that the host writes those of a step while the copies of
/// steps before it are still to come; next() waits only where it is as many steps ahead as there
/// are rooms.
class Upload {
 public:
  virtual ~Upload() = default;
  virtual std::span<char> next() = 0;
  /// What next() returned, to `to` of as many bytes, in stream order.
  virtual void send(void* to, CUstream_st* stream) = 0;
};

/// For a step on the current device of that back end. EnvironmentError in a build without CUDA,
/// CudaError where the device refuses.
std::unique_ptr<Upload> make_upload(Backend backend, std::size_t bytes);
/// make_upload() of a CUDA device.
std::unique_ptr<Upload> make_cuda_upload(std::size_t bytes);

}  // namespace nsa::training
