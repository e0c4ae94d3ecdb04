#include "worker/elements.hpp"

#include <algorithm>
#include <cstring>

namespace nsa::tuner {
namespace {

bool holds(const std::byte* element, std::size_t bytes, std::byte poison) {
  return std::all_of(element, element + bytes, [&](std::byte b) { return b == poison; });
}

/// Elements of type Bits whose exponent bits are all ones.
template <class Bits>
std::int64_t count_exponents(const std::vector<std::byte>& bytes, Bits exponent) {
  std::int64_t count = 0;
  for (std::size_t at = 0; at + sizeof(Bits) <= bytes.size(); at += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, bytes.data() + at, sizeof bits);
    count += (bits & exponent) == exponent;
  }
  return count;
}

std::int64_t count_non_finite(const HostTensor& tensor) {
  switch (tensor.shape.dtype) {
    case Dtype::fp64:
      return count_exponents<std::uint64_t>(tensor.bytes, 0x7FF0000000000000);
    case Dtype::fp32:
      return count_exponents<std::uint32_t>(tensor.bytes, 0x7F800000);
    case Dtype::bf16:
      return count_exponents<std::uint16_t>(tensor.bytes, 0x7F80);
    case Dtype::fp16:
      return count_exponents<std::uint16_t>(tensor.bytes, 0x7C00);
    case Dtype::int32:
      return 0;
  }
  return 0;
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
  for (const HostTensor& tensor : tensors) count += count_non_finite(tensor);
  return count;
}

}  // namespace nsa::tuner
