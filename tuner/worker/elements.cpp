#include "worker/elements.hpp"

#include <algorithm>
#include <cstring>

namespace nsa::tuner {
namespace {

bool holds(const std::byte* element, std::size_t bytes, std::byte poison) {
  return std::all_of(element, element + bytes, [&](std::byte b) { return b == poison; });
}

/// Whether the exponent bits of a float of that type are all ones.
bool is_non_finite(const std::byte* element, Dtype dtype) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, element, size_of(dtype));
  switch (dtype) {
    case Dtype::fp64:
      return (bits >> 52 & 0x7FF) == 0x7FF;
    case Dtype::fp32:
      return (bits >> 23 & 0xFF) == 0xFF;
    case Dtype::bf16:
      return (bits >> 7 & 0xFF) == 0xFF;
    case Dtype::fp16:
      return (bits >> 10 & 0x1F) == 0x1F;
    case Dtype::int32:
      return false;
  }
  return false;
}

}  // namespace

std::int64_t count_untouched(const Outputs& before, std::byte old_poison, const Outputs& now,
                             std::byte poison) {
  std::int64_t count = 0;
  for (std::size_t t = 0; t < now.size(); ++t) {
    const std::size_t bytes = size_of(now[t].shape.dtype);
    for (std::size_t at = 0; at < now[t].bytes.size(); at += bytes) {
      count += now[t].bytes[at] == poison && holds(now[t].bytes.data() + at, bytes, poison) &&
               holds(before[t].bytes.data() + at, bytes, old_poison);
    }
  }
  return count;
}

std::int64_t count_non_finite(const Outputs& tensors) {
  std::int64_t count = 0;
  for (const HostTensor& tensor : tensors) {
    const std::size_t bytes = size_of(tensor.shape.dtype);
    if (tensor.shape.dtype == Dtype::int32) continue;
    for (std::size_t at = 0; at < tensor.bytes.size(); at += bytes)
      count += is_non_finite(tensor.bytes.data() + at, tensor.shape.dtype);
  }
  return count;
}

}  // namespace nsa::tuner
