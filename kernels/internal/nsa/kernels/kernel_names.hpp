// What the kernels of a row are called, as a profiler shows them: so that a test can tell that a
// row runs what it says, and no library's other kernel behind its back.
#pragma once

#include <string_view>
#include <vector>

#include "nsa/kernels/catalog.hpp"

namespace nsa {

/// Parts of demangled names. Every kernel of a launch has one of these.
struct ClaimedKernels {
  std::vector<std::string_view> own;  // and one kernel at least one of these; empty = no kernels
  std::vector<std::string_view> helpers;  // what other rows may run too
};
/// What a CUDA row says of its kernels (KernelNames), with what every row may run; of a row that
/// runs others one after another, what these say. Not of attention, layer and model.
ClaimedKernels claimed_kernels(const Variant& variant);

}  // namespace nsa
