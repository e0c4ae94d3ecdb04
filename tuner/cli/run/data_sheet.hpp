// What a GPU's data sheet promises of matrix products: what others mean by MFU.
#pragma once

#include <optional>

#include "nsa/schemas/device.hpp"
#include "nsa/schemas/types.hpp"

namespace nsa::cli {

/// Dense FLOP/s of that dtype (fp32: without tensor cores), without sparsity and at boost clock;
/// nothing for a device or a dtype that is not in the table.
std::optional<double> data_sheet_flop_per_s(const Device& device, Dtype dtype);

}  // namespace nsa::cli
