// The ONE table of variants, made once: threads may share it and call all that is here, and spans
// of it live as long as the program. To add a row: its files in the stage folder, one row in the
// stage's table (kernels/<stage>/variants.cpp), one CMake line. docs/variants.md is made of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nsa/kernels/launch.hpp"
#include "nsa/kernels/support.hpp"
#include "nsa/schemas/device.hpp"
#include "nsa/schemas/env_names.hpp"
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

/// Coordinates that a variant can be tuned over, e.g. {"bq", {32, 64}}.
struct Coordinate {
  std::string_view name;
  std::span<const std::int64_t> values;
};

enum class Role : std::uint8_t {
  candidate,          // may be chosen
  slow_path,          // exact but never chosen by default: warned about and counted when it runs
  reduced_precision,  // coarser than the problem's dtype (TF32): measured, runs only where somebody
                      // asks
  baseline,           // another answer (dense attention): measured everywhere, never chosen
};

/// What a row rounds between its inputs and its outputs.
enum class Precision : std::uint8_t {
  native,   // no more than the problem's dtype does
  reduced,  // something in between to 16 bits or to TF32: runs only where somebody asks or measured
};

/// Which of the reserves of a thresholds file a row follows.
enum class Reserve : std::uint8_t { none, sel_pack, varlen };

/// A library of a vendor whose headers a build may lack.
enum class Library : std::uint8_t { none, cudnn, flashinfer };

/// What the kernels of a row are called, as a profiler shows them: parts of demangled names.
struct KernelNames {
  std::span<const std::string_view> own{};  // one kernel at least has one of these; empty: any in
                                            // the namespaces of its stages
  std::span<const std::string_view> helpers{};  // what other rows may run too
  bool host_only = false;                       // copies and the host alone
};

struct Variant;

/// A row that a composite names for one of its stages.
struct Part {
  Stage stage = Stage::attend_selected;
  std::string_view name{};
  const Variant* row = nullptr;  // of catalog(), which fills it in
};

/// How a row over other rows runs. A stage that no part names runs as it is decided by itself.
struct CompositePlan {
  enum class Mode : std::uint8_t {
    kernels,     // no composite: the row's own kernels
    in_turn,     // its parts, one for each stage, one after another
    batched,     // all tokens through each stage at once
    sequential,  // token after token
    one_kernel,  // the stages of `covers` in one kernel, the others before it
  };
  Mode mode = Mode::kernels;
  bool window_beside = false;  // on a stream of its own, where its row needs no workspace
  bool dense = false;          // dense causal attention instead of NSA
  std::span<const Part> parts{};
  std::span<const Stage> covers{};

  /// The row that it names for the stage, or nullptr.
  const Variant* part(Stage stage) const noexcept {
    for (const Part& one : parts) {
      if (one.stage == stage) return one.row;
    }
    return nullptr;
  }
};

/// Built-in order: rows without a rank of their own, in the order of the table.
inline constexpr int kUnranked = 50;

/// A row of the table.
struct Variant {
  std::span<const Stage> stages{};
  std::string_view name{};  // of the rows of its stages, back end and direction no other has it
  Backend backend = Backend::cpu;
  Role role = Role::candidate;
  int min_compute_capability = 0;  // 80 = 8.0; 0 on a CPU
  unsigned dtypes = 0;             // bit per Dtype, see dtype_bit
  std::span<const Coordinate> coordinates{};
  std::span<const std::string_view> ignores{};  // inputs of the signature that it does not read:
                                                // fused_query takes blocks and ignores "ranges"
  std::string_view summary{};                   // one sentence for docs/variants.md
  /// Arithmetic alone: asked in every choice, so it allocates nothing and cannot throw.
  Support (*supports)(const Problem&, const Device&) noexcept = nullptr;
  Cost (*cost)(const Problem&) = nullptr;                     // of the mathematics, not of the code
  std::int64_t (*workspace_bytes)(const Problem&) = nullptr;  // null: the most of its parts
  void (*launch)(const LaunchArgs&) = nullptr;                // null: not built into this binary
  std::string_view source_hash{};  // of all that its objects are compiled from; made by the build
  /// Which of ids_of(row) runs where nobody has measured; null: the first.
  std::size_t (*default_point)(const Problem&) noexcept = nullptr;
  int rank = kUnranked;  // in the built-in order among the rows of its stages; the least runs
  Precision precision = Precision::native;
  double fp32_tolerance =
      0;  // relative L2 of a row of fp32 that is right, if more than the stages'
  KernelNames kernels{};
  bool waits_for_host = false;  // reads something back in the middle of its launch
  Reserve reserve = Reserve::none;
  SwitchTarget switch_target = SwitchTarget::none;
  Library library = Library::none;
  /// Nothing: as the stages need at least. catalog() fills it in.
  std::optional<WorkOrder> order{};
  /// Why a library that is opened at run time is not there, empty where it is. Null: needs none.
  const std::string& (*missing)() = nullptr;
  CompositePlan plan{};
  Direction direction = Direction::forward;
  bool deterministic = true;  // the same bits from run to run
  bool folds_gates = false;   // backward: writes or reads Saved::row_stats where they are present
};

/// The bit of the dtype in Variant::dtypes.
constexpr unsigned dtype_bit(Dtype dtype) { return 1u << static_cast<unsigned>(dtype); }

/// All rows, stage by stage, forward before backward, CPU before CUDA. CUDA rows are here in a
/// CPU-only build too, with launch == nullptr.
std::span<const Variant> catalog();
/// The row of that stage list, name, back end and direction, or nullptr. Of launches that
/// save: the forward row.
const Variant* find_variant(std::span<const Stage> stages, std::string_view name, Backend backend,
                            Direction direction = Direction::forward);
/// The same by the stages and the name of an id, whatever its point.
const Variant* find_variant(const VariantId& id, Backend backend,
                            Direction direction = Direction::forward);
/// Every id that the row stands for: one per point of its coordinates, or one without a point.
std::vector<VariantId> ids_of(const Variant& variant);
/// Back end, direction, dtype, compute capability, libraries and the row's own `supports`, in this
/// order.
Support supports(const Variant& variant, const Problem& problem, const Device& device);
/// The part of it that a program can ask once: back end, compute capability, libraries.
/// `libraries`: whether one that is missing here matters.
Support runs_on(const Variant& variant, const Device& device, bool libraries = true);
/// Rows of one stage and direction that are built and may be chosen, in the built-in order.
std::span<const Variant* const> candidates_of(Stage stage, Backend backend,
                                              Direction direction = Direction::forward);
/// "attend_compressed+score"
std::string stages_text(std::span<const Stage> stages);
/// The point of the row that runs where nobody has measured.
Point default_point_of(const Variant& variant, const Problem& problem);
/// Upper bound of the workspace of a launch, in bytes.
std::int64_t workspace_of(const Variant& variant, const Problem& problem);

/// Whether it reads an input of its signature: not one of `ignores`.
bool reads(const Variant& variant, std::string_view input) noexcept;
/// Whether it runs other rows.
inline bool is_composite(const Variant& variant) noexcept {
  return variant.plan.mode != CompositePlan::Mode::kernels;
}

/// Tensors of a stage (kernels/catalog/signatures.cpp; `nsatune variants --json` prints them).
/// Backward: what the gradients are made from, and the gradients; nothing where a stage has no
/// gradient.
Signature signature_of(Stage stage, Direction direction = Direction::forward);
/// Type of a tensor and its extents, of which the first `rank` count.
struct TensorShape {
  Dtype dtype = Dtype::fp32;
  int rank = 0;
  std::array<std::int64_t, kMaxRank> shape{};
};
/// Of a named tensor of `stage` for this problem, in its direction. int32 where its TensorSpec says
/// so, fp32 for what is saved and (unless the problem is fp64) for the gradient of all weights,
/// else the problem's dtype. ContractError where the stage has no tensor of that name.
TensorShape shape_of(Stage stage, std::string_view tensor, const Problem& problem);

/// Tensors of a row that covers several stages: what any of them reads and none before it writes,
/// once each, and what all of them write, stage by stage.
struct MergedSignature {
  std::vector<TensorSpec> inputs, outputs;
};
/// The merged signature of a row over these stages.
MergedSignature signature_of(std::span<const Stage> stages,
                             Direction direction = Direction::forward);
/// shape_of() of the first of the stages that has a tensor of that name. ContractError where none
/// has.
TensorShape shape_of(std::span<const Stage> stages, std::string_view tensor,
                     const Problem& problem);

}  // namespace nsa
