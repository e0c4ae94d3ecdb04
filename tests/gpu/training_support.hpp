// What the tests of a training step's operations on a device share.
#pragma once

#include <array>
#include <cmath>
#include <vector>

#include "cpu/convert.hpp"
#include "gpu.hpp"
#include "nsa/schemas/generator.hpp"
#include "relative_l2.hpp"
#include "training/ops.hpp"

namespace nsa::test {

using training::StepScalars;
using training::TrainingOps;

inline HostTensor empty_tensor(Dtype dtype, std::initializer_list<std::int64_t> shape) {
  HostTensor tensor{"x", {dtype, static_cast<int>(shape.size()), {}}, {}};
  std::copy(shape.begin(), shape.end(), tensor.shape.shape.begin());
  tensor.bytes.resize(tensor.view().bytes(), std::byte{0xff});  // NaN, or the token -1
  return tensor;
}

/// Values between -2 and 2 from a seed, rounded.
inline HostTensor random_tensor(Dtype dtype, std::initializer_list<std::int64_t> shape,
                                std::uint64_t seed) {
  HostTensor tensor = empty_tensor(dtype, shape);
  std::vector<double> values(static_cast<std::size_t>(tensor.view().elements()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = generate(i, seed, 2);
  store_row(tensor.view(), 0, tensor.view().elements(), values.data());
  return tensor;
}

inline std::vector<double> values_of(const HostTensor& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.view().elements()));
  load_row(tensor.view(), 0, tensor.view().elements(), values.data());
  return values;
}

inline double relative_l2(const HostTensor& got, const HostTensor& want) {
  return relative_l2(values_of(got), values_of(want));
}

/// What is rounded once to the tensor's type, from sums in fp32 in another order.
inline double tolerance(Dtype dtype) {
  return dtype == Dtype::fp32 ? 1e-5 : dtype == Dtype::bf16 ? 6e-3 : 1e-3;
}

/// StepScalars on the device, for one scope.
class DeviceScalars {
 public:
  DeviceScalars(const StepScalars& scalars, CUstream_st* stream)
      : buffer_(sizeof scalars), stream_(stream) {
    device::copy_to_device(buffer_.data(), &scalars, sizeof scalars, stream);
  }
  StepScalars* get() const { return static_cast<StepScalars*>(buffer_.data()); }
  StepScalars read() const {
    StepScalars scalars;
    device::copy_to_host(&scalars, buffer_.data(), sizeof scalars, stream_);
    device::synchronize(stream_);
    return scalars;
  }

 private:
  device::Buffer buffer_;
  CUstream_st* stream_;
};

}  // namespace nsa::test
