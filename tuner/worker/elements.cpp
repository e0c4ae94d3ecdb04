#include "worker/elements.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>

#include "nsa/kernels/parallel.hpp"

namespace nsa::tuner {
namespace {

/// Sum of count(from, to) over pieces of [0, elements), on all CPUs.
template <class Count>
std::int64_t sum_of(std::size_t elements, Count count) {
  constexpr std::int64_t kPiece = 1 << 20;
  std::atomic<std::int64_t> sum{0};
  parallel_for(0, static_cast<std::int64_t>(elements), kPiece,
               [&](std::int64_t from, std::int64_t to) {
                 sum += count(static_cast<std::size_t>(from), static_cast<std::size_t>(to));
               });
  return sum;
}

bool holds(const std::byte* element, std::size_t bytes, std::byte poison) {
  return std::all_of(element, element + bytes, [&](std::byte b) { return b == poison; });
}

/// Elements of type Bits whose exponent bits are all ones.
template <class Bits>
std::int64_t count_exponents(std::span<const std::byte> bytes, Bits exponent) {
  return sum_of(bytes.size() / sizeof(Bits), [&](std::size_t from, std::size_t to) {
    std::int64_t count = 0;
    for (std::size_t i = from; i < to; ++i) {
      Bits bits;
      std::memcpy(&bits, bytes.data() + i * sizeof bits, sizeof bits);
      count += (bits & exponent) == exponent;
    }
    return count;
  });
}

std::int64_t non_finite_in(const HostTensor& tensor) {
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
    count += sum_of(now[t].bytes.size() / bytes, [&](std::size_t from, std::size_t to) {
      std::int64_t untouched = 0;
      for (std::size_t at = from * bytes; at < to * bytes; at += bytes) {
        untouched += now[t].bytes[at] == poison && holds(now[t].bytes.data() + at, bytes, poison) &&
                     holds(before[t].bytes.data() + at, bytes, old_poison);
      }
      return untouched;
    });
  }
  return count;
}

std::int64_t count_non_finite(const Outputs& tensors) {
  std::int64_t count = 0;
  for (const HostTensor& tensor : tensors) count += non_finite_in(tensor) - empty_rows(tensor);
  return count;
}

bool is_log_sum_exp(std::string_view name) noexcept { return name.starts_with("lse_"); }

std::int64_t empty_rows(const HostTensor& tensor) {
  if (!is_log_sum_exp(tensor.name) || tensor.shape.dtype != Dtype::fp32) return 0;
  constexpr std::uint32_t kMinusInfinity = 0xFF800000;
  return sum_of(tensor.bytes.size() / sizeof(float), [&](std::size_t from, std::size_t to) {
    std::int64_t count = 0;
    for (std::size_t i = from; i < to; ++i) {
      std::uint32_t bits;
      std::memcpy(&bits, tensor.bytes.data() + i * sizeof bits, sizeof bits);
      count += bits == kMinusInfinity;
    }
    return count;
  });
}

}  // namespace nsa::tuner
