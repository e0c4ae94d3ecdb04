// Where a worker's tensors live: host memory for the CPU, device memory for CUDA.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "nsa/kernels/inputs.hpp"
#include "nsa/kernels/launch.hpp"

namespace nsa::tuner {

/// Tensors where the variants of the device can read and write them.
class TensorSet {
 public:
  virtual ~TensorSet() = default;
  virtual std::span<const TensorView> views() const = 0;
  /// Fills every byte.
  virtual void fill(std::byte value) = 0;
  /// The tensors in host memory, up to date; valid until the next launch.
  virtual const std::vector<HostTensor>& on_host() = 0;
  /// on_host(), kept in `to`, whose memory is used again: a fresh gigabyte costs more than its
  /// copy.
  virtual void fetch_into(std::vector<HostTensor>& to) = 0;
};

class Memory {
 public:
  virtual ~Memory() = default;
  /// A copy of tensors. Throws OutOfMemory.
  virtual std::unique_ptr<TensorSet> place(const std::vector<HostTensor>& tensors) = 0;
  /// Tensors of these names and shapes, every byte `value`. Throws OutOfMemory.
  virtual std::unique_ptr<TensorSet> place_filled(std::vector<HostTensor> shapes,
                                                  std::byte value) = 0;
  /// Sequences where the variants can read them; owned by the result.
  virtual std::shared_ptr<const Sequence> place(const std::vector<Sequence>& sequences) = 0;
  virtual Allocator& allocator() noexcept = 0;
  /// Fills memory that allocator() gave.
  virtual void fill(void* data, std::byte value, std::size_t bytes) = 0;
  virtual CUstream_st* stream() noexcept = 0;
  /// Waits until everything on the stream is done.
  virtual void synchronize() = 0;
};

std::unique_ptr<Memory> make_host_memory();
/// For the device's back end. EnvironmentError when it is not built or cannot be used.
std::unique_ptr<Memory> make_memory(const Device& device);

}  // namespace nsa::tuner
