// How much shared memory a kernel may be launched with.
#pragma once

#include <cstddef>

namespace nsa::cuda {

/// Most shared memory of a block that needs no opting in.
inline constexpr std::size_t kPlainSharedBytes = 48 * 1024;

/// Lets `kernel` be launched with `bytes` of dynamic shared memory on the current device. The
/// allowance belongs to the kernel, not to the launch, and is only ever raised: another thread's
/// smaller launch of the same kernel does not take it away between this call and the launch.
void allow_shared_bytes(const void* kernel, std::size_t bytes);

}  // namespace nsa::cuda
