// Memory and streams of the current CUDA device, without a CUDA type in sight. In a build without
// CUDA everything but built() throws EnvironmentError; a call that the device refuses throws
// CudaError. Sizes are in bytes. All functions may be called by several threads, each of which has
// a current device of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "nsa/kernels/workspace.hpp"
#include "nsa/schemas/device.hpp"

struct CUstream_st;

namespace nsa::device {

/// True when this program holds the CUDA back end (whether or not a device is here).
bool built() noexcept;
/// Makes that device ("cuda:<ordinal>") current for the calling thread. CudaError where there is no
/// such device or no driver.
void select(int ordinal);
/// The one that is current for the calling thread.
int current_ordinal();
/// What routing needs to know of it; what only a probe reads (driver, power) is absent.
Device current();

/// A stream of the current device that does not wait for the null stream. The caller destroys it.
CUstream_st* make_stream();
/// Work that it still holds is finished all the same. Null: nothing happens.
void destroy_stream(CUstream_st* stream) noexcept;
/// Waits until all that was enqueued on the stream is done; errors of the work surface here.
void synchronize(CUstream_st* stream);

/// cudaMalloc: aligned to 256 bytes, more than the 16 that the fast paths of our rows need of a
/// tensor's data and rows. Throws OutOfMemory with what is free.
void* allocate(std::size_t bytes);
/// Gives back what allocate() gave; work that uses it is done before. Null: nothing happens.
void release(void* data) noexcept;
/// Copies `bytes` from host memory, in stream order; null is the default stream, here and below.
/// Pageable memory may be reused when the call returns, page-locked memory after synchronize().
void copy_to_device(void* to, const void* from, std::size_t bytes, CUstream_st* stream);
/// Copies to host memory, in stream order; what it writes is there only after synchronize().
void copy_to_host(void* to, const void* from, std::size_t bytes, CUstream_st* stream);
/// Copies from device memory to device memory that does not overlap it, in stream order.
void copy_on_device(void* to, const void* from, std::size_t bytes, CUstream_st* stream);
/// Every one of the `bytes` becomes `value`, in stream order.
void fill(void* to, std::byte value, std::size_t bytes, CUstream_st* stream);

/// Of a device, all processes on it.
struct MemoryInfo {
  std::size_t free_bytes = 0, total_bytes = 0;
};
/// That of the current device, now.
MemoryInfo memory_info();

/// For a Workspace on the device that is current when it allocates. Threads may share it.
Allocator& allocator() noexcept;

/// Owns device memory; movable, not copyable. Work that uses the memory is done before the buffer
/// is destroyed. One thread at a time.
class Buffer {
 public:
  Buffer() : Buffer(0) {}  // holds nothing: data() is null
  /// allocate(bytes), and its errors; 0 bytes: holds nothing.
  explicit Buffer(std::size_t bytes) : memory_(bytes ? allocate(bytes) : nullptr, Free{bytes}) {}

  /// The memory, aligned to 256 bytes; null where it holds nothing.
  void* data() const noexcept { return memory_.get(); }
  /// As asked for.
  std::size_t bytes() const noexcept { return memory_ ? memory_.get_deleter().bytes : 0; }

 private:
  struct Free {
    std::size_t bytes;
    void operator()(void* data) const noexcept { release(data); }
  };
  std::unique_ptr<void, Free> memory_;
};

}  // namespace nsa::device
