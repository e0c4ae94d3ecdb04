// What a call takes of its workspace with the rows that the router chooses.
#include <algorithm>
#include <string_view>

#include "composite_bounds.hpp"
#include "nsa/kernels/runtime.hpp"
#include "nsa/schemas/reserve_bytes.hpp"

namespace nsa {
namespace {

/// The hungriest of the rows that a layer runs: chosen ones, and those of two stages, which the
/// runtime prefers where they run.
std::int64_t hungriest_row(const Router& router, const Problem& p) {
  std::int64_t most = 0;
  const auto take = [&](const Variant& row) {
    if (row.workspace_bytes) most = std::max(most, row.workspace_bytes(p));
  };
  for (int i = 0; i < static_cast<int>(Stage::attention); ++i) {
    const auto stage = static_cast<Stage>(i);
    if ((stage == Stage::project_rope || stage == Stage::out_proj) && p.model.model_dim < 1)
      continue;
    const Choice choice = router.choose(stage, p);
    if (choice.variant) take(*choice.variant);
  }
  const Router::Inputs& inputs = router.inputs();
  for (const Variant& row : inputs.rows) {
    if (row.stages.size() == 2 && row.launch && supports(row, p, inputs.device).supported)
      take(row);
  }
  return most;
}

/// What the router's reserves ask for ahead of the need, where the chosen row copies K and V.
std::int64_t reserved_bytes(const Router& router, const Problem& p) {
  const Choice choice = router.choose(Stage::attend_selected, p);
  if (!choice.variant) return 0;
  const std::string_view name = choice.variant->name;
  const Reserves reserves = router.reserves(p);
  const ReserveBytes bytes(p.heads_per_group(), p.head_dim_k, p.head_dim_v, p.dtype);
  if (name == "packed") {
    return static_cast<std::int64_t>(bytes.packed(reserves.sel_pack_reserve_n.value_or(0),
                                                  reserves.sel_pack_reserve_l.value_or(0)));
  }
  if (name == "varlen_v1" || name == "varlen_v2") {
    return static_cast<std::int64_t>(
        bytes.varlen(reserves.varlen_reserve_n.value_or(0), reserves.varlen_reserve_k.value_or(0)));
  }
  return 0;
}

}  // namespace

std::size_t workspace_bytes(const Router& router, Stage composite, const Problem& p) {
  expects(composite >= Stage::attention, "a composite");
  const Backend backend = router.inputs().device.backend;
  std::int64_t between = between_attention(p, backend);
  if (composite != Stage::attention) between += between_layer(p);
  if (composite == Stage::model) between += between_model(p, backend);
  return static_cast<std::size_t>(between +
                                  std::max(hungriest_row(router, p), reserved_bytes(router, p)));
}

}  // namespace nsa
