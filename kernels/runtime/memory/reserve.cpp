// What a call takes of its workspace with the rows that the router chooses.
#include "runtime/memory/reserve.hpp"

#include <algorithm>
#include <array>

#include "nsa/kernels/reserve_bytes.hpp"
#include "nsa/kernels/runtime.hpp"
#include "runtime/composite/bounds.hpp"

namespace nsa {
namespace {

/// What was chosen for the layers of the composite, as the runtime chooses: within the model's
/// choice, if it is a model.
Choice layer_choice(const Router& router, Stage composite, const Problem& p) {
  const bool in_model = composite == Stage::model;
  const Choice model = in_model ? router.choose(Stage::model, p) : Choice{};
  return router.choose(Stage::layer, p, in_model ? &model : nullptr);
}

/// The hungriest of the rows that run.
std::int64_t hungriest_row(const Router& router, const Problem& p, const Choice& attention) {
  static constexpr std::array kBoth{Stage::attend_compressed, Stage::score};
  std::int64_t most = 0;
  const auto take = [&](const Choice& choice) {
    if (choice.variant) most = std::max(most, workspace_of(*choice.variant, p));
  };
  for (int i = 0; i < static_cast<int>(Stage::attention); ++i) {
    const auto stage = static_cast<Stage>(i);
    if ((stage == Stage::project_rope || stage == Stage::out_proj) && p.model.model_dim < 1)
      continue;
    take(router.choose(stage, p, &attention));
  }
  // With a branch off each stage runs by itself: those count too.
  const Segmentation segmentation = router.segmentation(kBoth, p, &attention);
  for (const Choice& choice : segmentation.choices()) take(choice);
  return most;
}

}  // namespace

std::int64_t reserved_bytes(const Router& router, const Problem& p, const Choice& attention) {
  const Choice choice = router.choose(Stage::attend_selected, p, &attention);
  if (!choice.variant) return 0;
  const Reserves reserves = router.reserves(p);
  const ReserveBytes bytes(p.heads_per_group(), p.head_dim_k, p.head_dim_v, p.dtype);
  switch (choice.variant->reserve) {
    case Reserve::sel_pack:
      return static_cast<std::int64_t>(bytes.packed(reserves.sel_pack_reserve_n.value_or(0),
                                                    reserves.sel_pack_reserve_l.value_or(0)));
    case Reserve::varlen:
      return static_cast<std::int64_t>(bytes.varlen(reserves.varlen_reserve_n.value_or(0),
                                                    reserves.varlen_reserve_k.value_or(0)));
    case Reserve::none:
      break;
  }
  return 0;
}

std::size_t workspace_bytes(const Router& router, Stage composite, const Problem& p) {
  expects(composite >= Stage::attention, "a composite");
  const Backend backend = router.inputs().device.backend;
  std::int64_t between = between_attention(p, backend);
  if (composite != Stage::attention) between += between_layer(p);
  if (composite == Stage::model) between += between_model(p, backend);
  const bool in_layer = composite != Stage::attention;
  const Choice layer = in_layer ? layer_choice(router, composite, p) : Choice{};
  const Choice attention = router.choose(Stage::attention, p, in_layer ? &layer : nullptr);
  return static_cast<std::size_t>(between + std::max(hungriest_row(router, p, attention),
                                                     reserved_bytes(router, p, attention)));
}

}  // namespace nsa
