// Kernels of vendors: what this build and this machine have of them.
#pragma once

#include <string>
#include <vector>

#include "nsa/kernels/catalog.hpp"
#include "nsa/schemas/device.hpp"

namespace nsa {

/// One entry per vendor's kernels: usable, its version, or why not and what would help.
std::vector<Capability> vendor_capabilities();

/// What a build lacks that has not this row (Variant::launch is null) and how to get it; empty for
/// a row that is built.
std::string why_not_built(const Variant& row);

}  // namespace nsa
