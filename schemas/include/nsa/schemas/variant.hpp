// Which implementation is meant: the id of a variant, apart from its code (kernels/catalog.hpp).
// Values are plain: threads may share one that none of them changes. Functions share nothing:
// threads may call them at the same time.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nsa/schemas/types.hpp"

namespace nsa {

/// A tuned point: coordinates in the order of the catalog, e.g. {{"bq", 64}, {"st", 3}}.
using Point = std::vector<std::pair<std::string, std::int64_t>>;

/// A variant of one stage or of several neighbouring ones, at one point.
/// Stages of a foreign worker may be unknown to us, so they are names here.
struct VariantId {
  std::vector<std::string> stages{"attend_selected"};
  std::string name;  // "fused_query"; "fused+materialised": one row for each stage, in turn
  Point point;       // empty where the variant has no coordinates
  auto operator<=>(const VariantId&) const = default;
};

/// The names of today for coordinates of bundled variants that were called otherwise before: `t` of
/// fused_query is `bq`, `c` of fused_block `chunk`, `rn` of packed `reserve_rows` and `rk` of
/// varlen_v2 `reserve_keys`. Files, databases and messages of workers hold both; whatever reads an
/// id asks here. Other ids stay as they are.
VariantId with_current_coordinates(VariantId id);

/// The rows of a sequence by their names, one for each stage; empty for a single row.
std::vector<std::string> sequence_of(const VariantId& id);
/// What is wrong with a sequence: "leaves score without a row". Nothing where each stage has one.
std::optional<std::string> find_gap(const VariantId& id);

/// "attend_selected/fused_query.bq=64.st=3"; several stages are joined with '+'.
std::string to_string(const VariantId& id);
/// The reverse; takes the older ".bq64.st3" too and throws InputError on anything else.
VariantId parse_variant_id(std::string_view text);

/// How the work of a variant grows with a length, at long lengths: 1 = linear, 2 = quadratic. Of
/// the code, not of the mathematics: what a decision may go by where nobody has measured.
struct WorkOrder {
  double seq_len = 1;      // of new tokens, whose context grows with them
  double context_len = 0;  // of cached tokens, for as many new ones
  bool operator==(const WorkOrder&) const = default;
};
inline constexpr WorkOrder kQuadratic{2, 1};

}  // namespace nsa
