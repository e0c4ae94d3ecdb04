// Where a run's tensors live: host memory for the CPU, device memory and a stream for CUDA.
#pragma once

#include <optional>

#include "nsa/kernels/device_memory.hpp"
#include "nsa/kernels/inputs.hpp"
#include "nsa/kernels/stream.hpp"

namespace nsa::cli {

/// The device of a run, made current, with a stream of its own where it has streams.
class RunDevice {
 public:
  explicit RunDevice(const Device& device);

  const Device& device() const noexcept { return device_; }
  bool on_gpu() const noexcept { return device_.backend != Backend::cpu; }
  Allocator& allocator() const noexcept;
  /// Null on a CPU.
  CUstream_st* stream() const noexcept { return stream_ ? stream_->get() : nullptr; }
  /// Waits until all that was enqueued is done.
  void synchronize() const;

 private:
  Device device_;
  std::optional<device::Stream> stream_;
};

/// A tensor where the device can use it.
class RunTensor {
 public:
  RunTensor() = default;
  /// Takes the tensor over: on a GPU it is copied there and the host's bytes are let go.
  RunTensor(HostTensor host, const RunDevice& device);
  const TensorView& view() const noexcept { return view_; }

 private:
  HostTensor host_;
  device::Buffer buffer_;
  TensorView view_;
};

}  // namespace nsa::cli
