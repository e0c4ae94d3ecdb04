// The stage folders' tables; catalog.cpp joins them into the one table.
#pragma once

#include <span>

#include "nsa/kernels/catalog.hpp"

namespace nsa {

std::span<const Variant> project_rope_variants();
std::span<const Variant> compress_variants();
std::span<const Variant> score_variants();
std::span<const Variant> ranges_variants();
std::span<const Variant> attend_compressed_variants();
std::span<const Variant> attend_selected_variants();
std::span<const Variant> attend_window_variants();
std::span<const Variant> gate_combine_variants();
std::span<const Variant> out_proj_variants();
std::span<const Variant> attention_variants();
std::span<const Variant> layer_variants();
std::span<const Variant> model_variants();

}  // namespace nsa
