// A stream of the current CUDA device that somebody owns, without a CUDA type in sight.
#pragma once

#include <memory>

#include "nsa/kernels/device_memory.hpp"

namespace nsa::device {

/// Owns a stream; movable, not copyable. Its work is done before it is destroyed. Threads may share
/// it.
class Stream {
 public:
  /// make_stream(), and its errors.
  Stream() : stream_(make_stream()) {}
  /// The stream, borrowed; null once it was moved from.
  CUstream_st* get() const noexcept { return stream_.get(); }

 private:
  struct Destroy {
    void operator()(CUstream_st* stream) const noexcept { destroy_stream(stream); }
  };
  std::unique_ptr<CUstream_st, Destroy> stream_;
};

}  // namespace nsa::device
