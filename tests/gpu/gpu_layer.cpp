#include "gpu_layer.hpp"

#include <array>
#include <cmath>

#include "cpu/convert.hpp"

namespace nsa::test {

Problem layer_problem(std::int64_t tokens, Dtype dtype) {
  return small_problem({tokens}, {0}, 6, 2, 32, 32, dtype);
}

HostTensor output_of(const Problem& p) { return make_outputs(Stage::layer, p).front(); }

std::vector<float> as_floats(const HostTensor& tensor) {
  std::vector<float> numbers(static_cast<std::size_t>(tensor.view().elements()));
  load_row(tensor.view(), 0, tensor.view().elements(), numbers.data());
  return numbers;
}

double relative_difference(std::span<const float> a, std::span<const float> b) {
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = static_cast<double>(a[i]) - b[i];
    error += d * d;
    norm += static_cast<double>(b[i]) * b[i];
  }
  const double relative = std::sqrt(error / norm);
  return relative == relative ? relative : HUGE_VAL;
}

std::optional<Device> gpu_with_layers() {
  auto device = gpu_or_skip();
  if (!device) return device;
  const std::array stage{Stage::layer};
  const Support support = supports(*find_variant(stage, "batched", Backend::cuda),
                                   layer_problem(64, Dtype::fp32), *device);
  if (support.supported) return device;
  WARN("skipped: " << support.reason());
  return std::nullopt;
}

}  // namespace nsa::test
