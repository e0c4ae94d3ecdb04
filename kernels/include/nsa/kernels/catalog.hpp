// The ONE table of variants. Its rows make the ids, the catalog, the oracle tests, the
// micro-benchmarks and docs/variants.md. To add one: its files in the stage folder, one row in the
// stage's table (kernels/<stage>/variants.cpp), one CMake line.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nsa/kernels/launch.hpp"
#include "nsa/schemas/device.hpp"
#include "nsa/schemas/measurement.hpp"
#include "nsa/schemas/problem.hpp"
#include "nsa/schemas/variant.hpp"

namespace nsa {

/// One named tensor of a stage, with its shape in words for documentation and foreign workers.
struct TensorSpec {
  std::string_view name;   // "q"
  std::string_view shape;  // "[tokens, q_heads, head_dim_k]"
  bool integer = false;    // int32, else the problem's dtype
};

/// What a stage, or a fused span of stages, reads and writes.
struct Signature {
  std::span<const TensorSpec> inputs;
  std::span<const TensorSpec> outputs;
};

/// Whether a variant can run a problem on a device, and if not, why and what would help.
struct Support {
  bool supported = true;
  std::string reason;
  static Support yes() { return {}; }
  static Support no(std::string why) { return {false, std::move(why)}; }
};

/// Coordinates that a variant can be tuned over, e.g. {"bq", {32, 64}}.
struct Coordinate {
  std::string_view name;
  std::span<const std::int64_t> values;
};

enum class Role : std::uint8_t {
  candidate,  // may be chosen
  slow_path,  // exact but never chosen by default: warned about and counted when it runs
  opt_in,     // coarser than the problem's dtype (TF32): measured, runs only where somebody asks
  yardstick,  // another answer (dense attention): measured everywhere, never chosen
};

/// A row of the table.
struct Variant {
  std::span<const Stage> stages{};
  std::string_view name{};
  Backend backend = Backend::cpu;
  Role role = Role::candidate;
  int min_compute_capability = 0;  // 80 = 8.0; 0 on a CPU
  unsigned dtypes = 0;             // bit per Dtype, see dtype_bit
  std::span<const Coordinate> coordinates{};
  std::span<const std::string_view> ignores{};  // inputs of the signature that it does not read:
                                                // fused_query takes blocks and ignores "ranges"
  std::string_view what{};                      // one sentence for docs/variants.md
  Support (*supports)(const Problem&, const Device&) = nullptr;
  Cost (*cost)(const Problem&) = nullptr;                     // of the mathematics, not of the code
  std::int64_t (*workspace_bytes)(const Problem&) = nullptr;  // upper bound
  void (*launch)(const LaunchArgs&) = nullptr;                // null: not built into this binary
  std::string_view source_hash{};                             // of its sources, made by the build
  /// Which of ids_of(row) runs where nobody has measured; null: the first.
  std::size_t (*default_point)(const Problem&) = nullptr;
};

constexpr unsigned dtype_bit(Dtype dtype) { return 1u << static_cast<unsigned>(dtype); }

/// All rows, stage by stage, CPU before CUDA. CUDA rows are here in a CPU-only build too, with
/// launch == nullptr.
std::span<const Variant> catalog();
/// The row of that stage list, name and back end, or nullptr.
const Variant* find_variant(std::span<const Stage> stages, std::string_view name, Backend backend);
const Variant* find_variant(const VariantId& id, Backend backend);
/// Every id that the row stands for: one per point of its coordinates.
std::vector<VariantId> ids_of(const Variant& variant);
/// Back end, dtype, compute capability and the row's own `supports`, in this order.
Support supports(const Variant& variant, const Problem& problem, const Device& device);

/// Tensors of a stage (see kernels/signatures.cpp, which also makes the table in the docs).
Signature signature_of(Stage stage);
/// Shape of a named tensor of `stage` for this problem; int32 or the problem's dtype.
struct TensorShape {
  Dtype dtype = Dtype::fp32;
  int rank = 0;
  std::array<std::int64_t, kMaxRank> shape{};
};
TensorShape shape_of(Stage stage, std::string_view tensor, const Problem& problem);

/// Tensors of a row that covers several stages: what any of them reads and none before it writes,
/// once each, and what all of them write, stage by stage.
struct JoinedSignature {
  std::vector<TensorSpec> inputs, outputs;
};
JoinedSignature signature_of(std::span<const Stage> stages);
TensorShape shape_of(std::span<const Stage> stages, std::string_view tensor,
                     const Problem& problem);
/// Rows of the packed tensors for each sequence of the problem.
std::vector<Sequence> sequences_of(const Problem& problem);

}  // namespace nsa
