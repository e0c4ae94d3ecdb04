// Tensors in a file, between a worker and us: the safetensors layout (8 bytes little-endian length
// of a JSON header, the header, the bytes).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "nsa/kernels/inputs.hpp"

namespace nsa::tuner {

/// A tensor to write: any contiguous host memory.
struct NamedView {
  std::string name;
  TensorView view;
};

/// Writes all tensors. EnvironmentError when the file cannot be written.
void write_safetensors(const std::string& path, std::span<const NamedView> tensors);
/// Reads a file of at most `max_bytes` that may come from anybody. InputError with the path on
/// anything that is not a well-formed file of F64, F32, BF16, F16 and I32 tensors of rank 4 or
/// less.
std::vector<HostTensor> read_safetensors(const std::string& path, std::uint64_t max_bytes);

}  // namespace nsa::tuner
