#include "worker/row_distance.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "nsa/kernels/parallel.hpp"

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

double relative_l2(double difference, double norm) {
  const double apart =
      std::sqrt(difference) / std::max(std::sqrt(norm), std::numeric_limits<double>::min());
  return std::isnan(apart) ? std::numeric_limits<double>::infinity() : apart;
}

template <Dtype kDtype>
double distance(const std::byte* a, const std::byte* b, std::size_t elements) {
  double difference = 0, norm = 0;
  constexpr std::size_t kStep = size_of(kDtype);
  for (std::size_t i = 0; i < elements; ++i) {
    const double x = value_of(a + i * kStep, kDtype), y = value_of(b + i * kStep, kDtype);
    difference += (x - y) * (x - y);
    norm += x * x;
  }
  return relative_l2(difference, norm);
}

/// Of integers the share that differs.
template <>
double distance<Dtype::int32>(const std::byte* a, const std::byte* b, std::size_t elements) {
  std::size_t unequal = 0;
  for (std::size_t i = 0; i < elements; ++i) {
    const std::size_t at = i * size_of(Dtype::int32);
    unequal += std::memcmp(a + at, b + at, size_of(Dtype::int32)) != 0;
  }
  return static_cast<double>(unequal) / static_cast<double>(elements);
}

double distance(const std::byte* a, const std::byte* b, std::size_t bytes, Dtype dtype) {
  const std::size_t elements = bytes / size_of(dtype);
  switch (dtype) {
    case Dtype::fp64:
      return distance<Dtype::fp64>(a, b, elements);
    case Dtype::fp32:
      return distance<Dtype::fp32>(a, b, elements);
    case Dtype::bf16:
      return distance<Dtype::bf16>(a, b, elements);
    case Dtype::fp16:
      return distance<Dtype::fp16>(a, b, elements);
    case Dtype::int32:
      return distance<Dtype::int32>(a, b, elements);
  }
  return 0;
}

/// The farthest of the outputs, 0 where none is farther apart than allowed.
double row_distance(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b,
                    std::int64_t row, double tolerance) {
  double most = 0;
  for (std::size_t t = 0; t < a.size(); ++t) {
    const std::size_t bytes = row_bytes(a[t].shape);
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

std::vector<double> row_distances(const std::vector<HostTensor>& a,
                                  const std::vector<HostTensor>& b, double tolerance) {
  const std::int64_t rows = a.empty() ? 0 : a.front().shape.shape[0];
  std::vector<double> distances(static_cast<std::size_t>(rows));
  parallel_for(0, rows, 16, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t row = from; row < to; ++row)
      distances[static_cast<std::size_t>(row)] = row_distance(a, b, row, tolerance);
  });
  return distances;
}

std::vector<std::int64_t> rows_apart(std::span<const double> distances) {
  std::vector<std::int64_t> apart;
  for (std::size_t row = 0; row < distances.size(); ++row)
    if (distances[row] > 0) apart.push_back(static_cast<std::int64_t>(row));
  std::ranges::stable_sort(apart, std::greater{}, [&](std::int64_t row) {
    return distances[static_cast<std::size_t>(row)];
  });
  return apart;
}

std::size_t row_bytes(const TensorShape& shape) noexcept {
  std::size_t bytes = size_of(shape.dtype);
  for (int i = 1; i < shape.rank; ++i)
    bytes *= static_cast<std::size_t>(shape.shape[static_cast<std::size_t>(i)]);
  return bytes;
}

HostTensor rows_of(const HostTensor& whole, std::span<const std::int64_t> rows) {
  HostTensor part{whole.name, whole.shape, {}};
  const std::size_t bytes = row_bytes(whole.shape);
  part.shape.shape[0] = 0;
  for (const std::int64_t row : rows) {
    if (row < 0 || row >= whole.shape.shape[0]) continue;
    const std::byte* begin = whole.bytes.data() + static_cast<std::size_t>(row) * bytes;
    part.bytes.insert(part.bytes.end(), begin, begin + bytes);
    ++part.shape.shape[0];
  }
  return part;
}

}  // namespace nsa::tuner
