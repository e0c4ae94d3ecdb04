// Where a worker's tensors live: host memory for the CPU, device memory for CUDA.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "nsa/kernels/launch.hpp"
#include "nsa/kernels/planned_inputs.hpp"

namespace nsa::tuner {

/// What shows in single elements, without an oracle.
struct OddElements {
  std::int64_t untouched = 0, non_finite = 0;
};

/// Tensors where the variants of the device can read and write them.
class TensorSet {
 public:
  virtual ~TensorSet() = default;
  virtual std::span<const TensorView> views() const = 0;
  /// Fills every byte.
  virtual void fill(std::byte value) = 0;
  /// The tensors in host memory, up to date; valid until the next launch.
  virtual const std::vector<HostTensor>& on_host() = 0;
  /// Rows (indices of dimension 0) of each contiguous tensor, as tensors that hold these alone, in
  /// this order. Rows that a tensor does not have are left out.
  virtual std::vector<HostTensor> rows(std::span<const std::int64_t> rows) = 0;
  /// What they hold now, in the same memory or, where there is no room, in host memory.
  virtual std::unique_ptr<TensorSet> copy() = 0;
  /// For each row how far it is from that of `other`, tensors of the same shapes, as row_distance()
  /// says: 0 where no more than `tolerance`.
  virtual std::vector<double> distances(TensorSet& other, double tolerance) = 0;
  /// Elements that are not finite, and those that hold `poison` here and `old_poison` in `before`.
  virtual OddElements odd_elements(std::byte poison, TensorSet& before, std::byte old_poison) = 0;
};

class Memory {
 public:
  virtual ~Memory() = default;
  /// A copy of tensors. Throws OutOfMemory.
  virtual std::unique_ptr<TensorSet> place(const std::vector<HostTensor>& tensors) = 0;
  /// A copy of inputs. What the generator fills is filled where it is placed, and has no bytes in
  /// `inputs` afterwards but where that is host memory. Throws OutOfMemory.
  virtual std::unique_ptr<TensorSet> place(PlannedInputs& inputs) = 0;
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

/// Tensors in host memory, whatever the device.
std::unique_ptr<TensorSet> in_host_memory(std::vector<HostTensor> tensors);
std::unique_ptr<Memory> make_host_memory();
/// For the device's back end. EnvironmentError when it is not built or cannot be used.
std::unique_ptr<Memory> make_memory(const Device& device);

}  // namespace nsa::tuner
