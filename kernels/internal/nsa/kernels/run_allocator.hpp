// The ways in which a run can ask a CUDA device for memory, each counting what it holds. In a build
// without CUDA making one throws EnvironmentError.
#pragma once

#include <cstddef>
#include <memory>

#include "nsa/kernels/workspace.hpp"

namespace nsa::device {

/// The most bytes so far.
struct AllocatorUse {
  std::size_t allocated = 0;  // asked for and not yet given back
  std::size_t reserved = 0;   // taken from the device for them
};

class RunAllocator : public Allocator {
 public:
  virtual AllocatorUse peak() const = 0;
};

/// A cudaMalloc for each piece. `reserved` is by how much the device's free memory fell, so another
/// process that allocates meanwhile counts too.
std::unique_ptr<RunAllocator> make_malloc_allocator();

/// cudaMallocFromPoolAsync from a pool of its own on the current device. The pool keeps up to
/// `keep_bytes` of what was given back (cudaMemPoolAttrReleaseThreshold) for the pieces after it.
/// Each call waits, so that any stream may use the memory.
std::unique_ptr<RunAllocator> make_pool_allocator(std::size_t keep_bytes);

}  // namespace nsa::device
