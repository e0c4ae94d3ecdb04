// A layer and its weights on the device, and how two results are compared.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gpu.hpp"
#include "nsa/kernels/runtime.hpp"

namespace nsa::test {

/// Small heads, one sequence.
Problem layer_problem(std::int64_t tokens, Dtype dtype);

/// One layer with its weights on the device.
struct GpuLayer {
  GpuLayer(const Device& gpu, const Problem& p, CUstream_st* on)
      : stream(on), host(make_inputs(Stage::layer, p, 5)), device(upload(host, on)) {
    Router::Inputs inputs;
    inputs.device = gpu;
    router = std::make_unique<Router>(std::move(inputs));
  }

  Context context() {
    Context c;
    c.router = router.get();
    c.workspace = &workspace;
    c.stream = stream;
    c.options = options;
    return c;
  }
  LayerWeights weights() const {
    const auto w = views(device);
    return {w[1], {w[2], w[3], w[4], w[5]}, w[6]};
  }
  /// Rows [first, first + count) of the layer's input.
  TensorView rows(const TensorView& x, std::int64_t first, std::int64_t count) const {
    TensorView part = x;
    part.data = x.as<char>() + first * x.stride[0] * static_cast<std::int64_t>(size_of(x.dtype));
    part.shape[0] = count;
    return part;
  }

  CUstream_st* stream;
  std::vector<HostTensor> host;
  std::vector<DeviceTensor> device;
  std::unique_ptr<Router> router;
  Workspace workspace{nan_filled_memory()};
  AttentionOptions options;
};

/// A poisoned tensor for what a layer puts out.
HostTensor output_of(const Problem& p);

/// The tensor's numbers as fp32.
std::vector<float> as_floats(const HostTensor& tensor);
/// |a - b| / |b|, Euclidean; NaN is huge.
double relative_difference(std::span<const float> a, std::span<const float> b);

/// A GPU on which every stage of a layer has a row; else the reason is printed.
std::optional<Device> gpu_with_layers();

}  // namespace nsa::test
