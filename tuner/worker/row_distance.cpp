#include "worker/row_distance.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace nsa::tuner {
namespace {

double half_value(std::uint16_t bits) noexcept {
  const int exponent = bits >> 10 & 0x1F;
  const int mantissa = bits & 0x3FF;
  const double sign = bits >> 15 ? -1.0 : 1.0;
  if (exponent == 0x1F) {
    return mantissa ? std::numeric_limits<double>::quiet_NaN()
                    : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(mantissa + 0x400, exponent - 25);
}

template <class T>
T bits_of(const std::byte* element) noexcept {
  T bits;
  std::memcpy(&bits, element, sizeof bits);
  return bits;
}

/// Bytes of one index of dimension 0.
std::size_t row_bytes(const HostTensor& tensor) {
  std::size_t bytes = size_of(tensor.shape.dtype);
  for (int i = 1; i < tensor.shape.rank; ++i)
    bytes *= static_cast<std::size_t>(tensor.shape.shape[static_cast<std::size_t>(i)]);
  return bytes;
}

double distance(const std::byte* a, const std::byte* b, std::size_t bytes, Dtype dtype) {
  double difference = 0, norm = 0;
  std::size_t unequal = 0;
  const std::size_t step = size_of(dtype);
  for (std::size_t at = 0; at < bytes; at += step) {
    if (std::memcmp(a + at, b + at, step) == 0 && dtype == Dtype::int32) continue;
    const double x = value_of(a + at, dtype), y = value_of(b + at, dtype);
    unequal += x != y;
    difference += (x - y) * (x - y);
    norm += x * x;
  }
  if (dtype == Dtype::int32)
    return static_cast<double>(unequal * step) / static_cast<double>(bytes);
  const double apart =
      std::sqrt(difference) / std::max(std::sqrt(norm), std::numeric_limits<double>::min());
  return std::isnan(apart) ? std::numeric_limits<double>::infinity() : apart;
}

/// The farthest of the outputs, 0 where none is farther apart than allowed.
double row_distance(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b,
                    std::int64_t row, double tolerance) {
  double most = 0;
  for (std::size_t t = 0; t < a.size(); ++t) {
    const std::size_t bytes = row_bytes(a[t]);
    const std::size_t begin = static_cast<std::size_t>(row) * bytes;
    const std::byte* x = a[t].bytes.data() + begin;
    const std::byte* y = b[t].bytes.data() + begin;
    if (std::memcmp(x, y, bytes) == 0) continue;
    const Dtype dtype = a[t].shape.dtype;
    const double apart = distance(x, y, bytes, dtype);
    if (apart > (dtype == Dtype::int32 ? 0 : tolerance)) most = std::max(most, apart);
  }
  return most;
}

}  // namespace

double value_of(const std::byte* element, Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::fp64:
      return bits_of<double>(element);
    case Dtype::fp32:
      return bits_of<float>(element);
    case Dtype::bf16:
      return std::bit_cast<float>(std::uint32_t{bits_of<std::uint16_t>(element)} << 16);
    case Dtype::fp16:
      return half_value(bits_of<std::uint16_t>(element));
    case Dtype::int32:
      return bits_of<std::int32_t>(element);
  }
  return 0;
}

std::vector<std::int64_t> rows_apart(const std::vector<HostTensor>& a,
                                     const std::vector<HostTensor>& b, double tolerance,
                                     const std::optional<std::vector<std::int64_t>>& among) {
  const std::int64_t rows = a.empty() ? 0 : a.front().shape.shape[0];
  std::vector<std::pair<double, std::int64_t>> apart;
  const auto look_at = [&](std::int64_t row) {
    const double far = row_distance(a, b, row, tolerance);
    if (far > 0) apart.emplace_back(-far, row);
  };
  if (among) {
    for (const std::int64_t row : *among) look_at(row);
  } else {
    for (std::int64_t row = 0; row < rows; ++row) look_at(row);
  }
  std::sort(apart.begin(), apart.end());
  std::vector<std::int64_t> found;
  for (const auto& [far, row] : apart) found.push_back(row);
  return found;
}

}  // namespace nsa::tuner
