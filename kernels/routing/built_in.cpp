// The built-in default: what runs where nobody has measured. Exact rows only, never a slow path.
#include <algorithm>
#include <array>

#include "stage_rows.hpp"

namespace nsa::routing {
namespace {

/// Fastest first, as far as it holds on any machine; rows that are not named follow in the order of
/// the table. Which row is really fastest at a length is for the thresholds file to say.
std::span<const std::string_view> preferred(Stage stage) {
  using Names = std::string_view;
  static constexpr std::array kRanges{Names{"ranges_v2"}, Names{"ranges_v1"}};
  static constexpr std::array kDense{Names{"fused"}, Names{"sdpa"}, Names{"fa2_varlen"},
                                     Names{"fa2_dense"}, Names{"sdpa_math"}};
  static constexpr std::array kSelected{Names{"fused_query"}, Names{"fused_block"}, Names{"masked"},
                                        Names{"gather"},      Names{"varlen_v2"},   Names{"packed"},
                                        Names{"varlen_v1"},   Names{"dense_prefix"}};
  static constexpr std::array kGate{Names{"gate_fused"}, Names{"fused"}};
  static constexpr std::array kComposite{Names{"fused_step"}, Names{"batched"},
                                         Names{"sequential"}};
  switch (stage) {
    case Stage::ranges:
      return kRanges;
    case Stage::attend_compressed:
    case Stage::attend_window:
      return kDense;
    case Stage::attend_selected:
      return kSelected;
    case Stage::gate_combine:
      return kGate;
    case Stage::attention:
    case Stage::layer:
    case Stage::model:
      return kComposite;
    default:
      return {};
  }
}

bool contains(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

/// Rows that trade precision for speed are taken only where somebody asks or measures.
bool reduced_precision(std::string_view name) {
  return contains(name, "_bf16") || contains(name, "_fp16") || contains(name, "_tf32") ||
         contains(name, "_16bit");
}

}  // namespace

std::vector<int> built_in_order(const StageRows& rows) {
  const auto names = preferred(rows.stage);
  const auto rank = [&](int row) {
    const std::string_view name = rows.rows[static_cast<std::size_t>(row)].variant->name;
    const auto at = std::find(names.begin(), names.end(), name);
    // Copies of K/V per head come last: the same answer with more memory traffic.
    return (at - names.begin()) + (contains(name, "kv_expanded") ? 100 : 0);
  };
  std::vector<int> order;
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    const Row& row = rows.rows[i];
    if (!row.usable || row.variant->role != Role::candidate) continue;
    if (!reduced_precision(row.variant->name)) order.push_back(static_cast<int>(i));
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return rank(a) < rank(b); });
  return order;
}

}  // namespace nsa::routing
