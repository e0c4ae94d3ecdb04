#include "worker/verify.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "nsa/kernels/device_oracle.hpp"
#include "process/child.hpp"

namespace nsa::tuner {
namespace {

constexpr std::byte kOtherPoison{0x5A};

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

/// (tensor, byte offset) of every element that holds the poison.
using Places = std::vector<std::pair<std::size_t, std::size_t>>;

Places find_poison(const std::vector<HostTensor>& tensors, std::byte poison) {
  Places places;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const std::size_t bytes = size_of(tensors[t].shape.dtype);
    for (std::size_t at = 0; at < tensors[t].bytes.size(); at += bytes) {
      if (tensors[t].bytes[at] == poison && holds(tensors[t].bytes.data() + at, bytes, poison))
        places.emplace_back(t, at);
    }
  }
  return places;
}

std::int64_t count_non_finite(const std::vector<HostTensor>& tensors) {
  std::int64_t count = 0;
  for (const HostTensor& tensor : tensors) {
    const std::size_t bytes = size_of(tensor.shape.dtype);
    if (tensor.shape.dtype == Dtype::int32) continue;
    for (std::size_t at = 0; at < tensor.bytes.size(); at += bytes)
      count += is_non_finite(tensor.bytes.data() + at, tensor.shape.dtype);
  }
  return count;
}

/// 0 .. rows-1 in steps that halve: every prefix of it is spread over all rows.
std::vector<std::int64_t> spread_order(std::int64_t rows) {
  std::vector<std::int64_t> order;
  std::int64_t step = 1;
  while (step < rows) step *= 2;
  if (rows > 0) order.push_back(0);
  for (; step > 1; step /= 2) {
    for (std::int64_t row = step / 2; row < rows; row += step) order.push_back(row);
  }
  return order;
}

}  // namespace

ElementFaults find_faults(Handle& handle) {
  handle.run_on_poison(kPoison);
  const Places suspects = find_poison(handle.outputs().on_host(), kPoison);
  ElementFaults faults;
  faults.non_finite = count_non_finite(handle.outputs().on_host());
  if (suspects.empty()) return faults;
  handle.run_on_poison(kOtherPoison);
  for (const auto& [tensor, at] : suspects) {
    const HostTensor& now = handle.outputs().on_host()[tensor];
    faults.untouched += holds(now.bytes.data() + at, size_of(now.shape.dtype), kOtherPoison);
  }
  return faults;
}

std::optional<double> worst_row_error(Handle& handle, const Device& device, double budget_s) {
  constexpr std::size_t kRowsAtOnce = 16;
  const TimePoint start = Clock::now();
  std::vector<TensorView> inputs, outputs;
  for (const HostTensor& tensor : handle.inputs()->host) inputs.push_back(tensor.view());
  for (const HostTensor& tensor : handle.outputs().on_host()) outputs.push_back(tensor.view());
  const auto stages = handle.variant().stages;
  if (device.backend == Backend::cuda && stages.size() == 1 &&
      device_oracle_covers(stages.front())) {
    return verify_on_device(stages.front(), handle.problem(), handle.inputs()->placed->views(),
                            handle.outputs().views(), handle.stream())
        .worst_row_error;
  }
  if (!SpanOracle::covers(stages, handle.problem())) return std::nullopt;
  const SpanOracle oracle(stages, handle.problem(), inputs, {}, handle.variant().role);
  const std::vector<std::int64_t> order = spread_order(oracle.rows());
  double worst = 0;
  for (std::size_t i = 0; i < order.size(); i += kRowsAtOnce) {
    if (i > 0 && seconds_since(start) > budget_s) break;
    const std::size_t count = std::min(kRowsAtOnce, order.size() - i);
    worst =
        std::max(worst, oracle.verify(outputs, std::span(order).subspan(i, count)).worst_row_error);
  }
  return worst;
}

}  // namespace nsa::tuner
