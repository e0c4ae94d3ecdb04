// The rows of the composites, for both back ends.
#include <array>
#include <vector>

#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "catalog/stages.hpp"
#include "decode/step.hpp"
#include "launches/vendor.hpp"
#include "nsa/kernels/device_memory.hpp"
#include "nsa/kernels/directions.hpp"
#include "runtime/composite/bounds.hpp"
#include "runtime/composite/launch.hpp"
#include "source_hashes.hpp"
#include "training/attention/both_passes.hpp"
#include "training/pass.hpp"

namespace nsa {
namespace {

constexpr std::array kAttentionStage{Stage::attention};
constexpr std::array kLayerStage{Stage::layer};
constexpr std::array kModelStage{Stage::model};

// What plans name for the stages that they do not leave open.
constexpr std::array kMasked{Part{Stage::attend_selected, "masked"}};
constexpr std::array kPacked{Part{Stage::attend_selected, "packed"}};
constexpr std::array kVarlen{Part{Stage::attend_selected, "varlen_v2"}};
constexpr std::array kDensePrefix{Part{Stage::attend_selected, "dense_prefix"}};
constexpr std::array kFusedBlock{Part{Stage::attend_selected, "fused_block"}};
constexpr std::array kSequentialAttention{Part{Stage::attention, "sequential"}};
constexpr std::array kSequentialLayer{Part{Stage::layer, "sequential"}};
constexpr std::array kSdpaWindow{Part{Stage::attend_window, "sdpa"}};
constexpr std::array kFa2Window{Part{Stage::attend_window, "fa2_varlen"}};
constexpr std::array kSdpaLayer{Part{Stage::layer, "dense_sdpa"}};
constexpr std::array kFa2Layer{Part{Stage::layer, "dense_fa2"}};
/// What the kernel of a decode step computes.
constexpr std::array kStepStages{Stage::score, Stage::attend_compressed, Stage::attend_selected,
                                 Stage::attend_window, Stage::gate_combine};

/// One token is the same by any plan.
Support several_tokens(const Problem& p, const Device&) noexcept {
  if (p.phase != Phase::decode) return Support::yes();
  return Support::no("a decode step has one token: sequential and batched are the same");
}

Support from_empty_cache(const Problem& p, const Device& device) noexcept {
  if (p.phase == Phase::prefill) return needs_model_dim(p, device);
  return Support::no(
      "layers and models are measured from an empty cache; `run --decode` times steps");
}

Support whole_model(const Problem& p, const Device& device) noexcept {
  if (p.model.layers < 1 || p.model.vocab_size < 2)
    return Support::no("the problem has no layers and vocab_size");
  return from_empty_cache(p, device);
}

/// What the rows of one composite share on both back ends.
struct Composite {
  std::span<const Stage> stages;
  Support (*supports)(const Problem&, const Device&) noexcept;
  Cost (*cost)(const Problem&);
  Cost (*dense_cost)(const Problem&);
  std::int64_t (*cpu_workspace)(const Problem&);
  std::int64_t (*cuda_workspace)(const Problem&);
  void (*launch)(const LaunchArgs&);
};

template <std::int64_t (*kBytes)(const Problem&, Backend), Backend kOn>
std::int64_t bytes_on(const Problem& problem) {
  return kBytes(problem, kOn);
}

template <std::int64_t (*kBytes)(const Problem&, Backend)>
constexpr Composite composite(std::span<const Stage> stages, decltype(Composite::supports) supports,
                              decltype(Composite::cost) cost,
                              decltype(Composite::dense_cost) dense_cost,
                              decltype(Composite::launch) launch) {
  return {stages,
          supports,
          cost,
          dense_cost,
          bytes_on<kBytes, Backend::cpu>,
          bytes_on<kBytes, Backend::cuda>,
          launch};
}

constexpr Composite kAttention = composite<attention_workspace>(
    kAttentionStage, nullptr, attention_cost, dense_attention_cost, launch_attention);
constexpr Composite kLayer = composite<layer_workspace>(kLayerStage, from_empty_cache, layer_cost,
                                                        dense_layer_cost, launch_layer);
constexpr Composite kModel = composite<model_workspace>(kModelStage, whole_model, model_cost,
                                                        dense_model_cost, launch_model);

/// Rows without a rank of their own come after these: what they name is for a table to say.
constexpr int kStepRank = 0, kBatchedRank = 1, kSequentialRank = 2;

Variant planned(const Composite& composite, Backend backend, std::string_view name,
                std::string_view what, const CompositePlan& plan) {
  const bool cpu = backend == Backend::cpu;
  return {.stages = composite.stages,
          .name = name,
          .backend = backend,
          .min_compute_capability = cpu ? 0 : 80,
          .dtypes = cpu ? kAllDtypes : kDeviceDtypes,
          .summary = what,
          .supports = composite.supports,
          .cost = composite.cost,
          .workspace_bytes = cpu ? composite.cpu_workspace : composite.cuda_workspace,
          .launch = cpu || device::built() ? composite.launch : nullptr,
          .source_hash = source_hash::runtime,
          .plan = plan};
}

Variant batched(const Composite& composite, Backend backend) {
  Variant row = planned(composite, backend, "batched", "All tokens through each stage at once.",
                        {.mode = CompositePlan::Mode::batched});
  row.rank = kBatchedRank;
  row.switch_target = SwitchTarget::batched;
  return row;
}

Variant sequential(const Composite& composite, Backend backend, std::span<const Part> parts) {
  Variant row = planned(composite, backend, "sequential",
                        "Token after token, as a decode loop: what the users' default prefill did.",
                        {.mode = CompositePlan::Mode::sequential, .parts = parts});
  row.rank = kSequentialRank;
  row.switch_target = SwitchTarget::sequential;
  return row;
}

/// The same composite with dense causal attention: another answer, so measured and never chosen.
Variant dense(const Composite& composite, Backend backend) {
  Variant row = planned(composite, backend, "dense",
                        "Dense causal attention instead of NSA: what it has to beat.",
                        {.mode = CompositePlan::Mode::batched, .dense = true});
  row.role = Role::baseline;
  row.cost = composite.dense_cost;
  return row;
}

/// Dense attention by a vendor's row of the window stage, or a model of layers that have it: the
/// break-even length is that of the best dense attention there is.
Variant dense_by(const Composite& composite, std::string_view name, std::string_view what,
                 std::span<const Part> parts, Library library, bool built) {
  Variant row = dense(composite, Backend::cuda);
  row.name = name;
  row.dtypes = dtype_bit(Dtype::bf16) | dtype_bit(Dtype::fp16);
  row.summary = what;
  row.plan.parts = parts;
  row.library = library;
  if (!built) row.launch = nullptr;
  return row;
}

/// `dense`, and on a GPU what vendors have.
void add_dense(std::vector<Variant>& rows, const Composite& composite, Backend backend) {
  rows.push_back(dense(composite, backend));
  if (backend != Backend::cuda) return;
  const bool model = composite.stages.front() == Stage::model;
  rows.push_back(dense_by(composite, "dense_sdpa", "Dense causal attention by cuDNN.",
                          model ? kSdpaLayer : kSdpaWindow, Library::cudnn,
                          vendor::kSdpa != nullptr));
  rows.push_back(dense_by(
      composite, "dense_fa2", "Dense causal attention by FlashInfer's FlashAttention-2.",
      model ? kFa2Layer : kFa2Window, Library::flashinfer, vendor::kFa2VarlenWindow != nullptr));
}

Variant by_selected(Backend backend, std::string_view name, std::string_view what,
                    std::span<const Part> parts) {
  return planned(kAttention, backend, name, what,
                 {.mode = CompositePlan::Mode::batched, .parts = parts});
}

void add_cpu_plans(std::vector<Variant>& rows) {
  constexpr Backend kCpu = Backend::cpu;
  rows.push_back(
      by_selected(kCpu, "batched_packed", "Batched, selected branch by `packed`.", kPacked));
  rows.push_back(
      by_selected(kCpu, "batched_varlen_v2", "Batched, selected branch by `varlen_v2`.", kVarlen));
  rows.push_back(by_selected(kCpu, "batched_dense_prefix",
                             "Batched, selected branch by `dense_prefix`.", kDensePrefix));
}

void add_cuda_plans(std::vector<Variant>& rows) {
  constexpr Backend kCuda = Backend::cuda;
  rows.push_back(planned(kAttention, kCuda, "batched_streams",
                         "Batched, the window branch beside the others on a stream of its own.",
                         {.mode = CompositePlan::Mode::batched, .window_beside = true}));
  for (const bool streams : {false, true}) {
    Variant block =
        by_selected(kCuda, streams ? "batched_streams_fused_block" : "batched_fused_block",
                    streams ? "The same, with the window branch on a stream of its own."
                            : "Batched, selected branch by `fused_block`.",
                    kFusedBlock);
    block.plan.window_beside = streams;
    block.dtypes = dtype_bit(Dtype::bf16) | dtype_bit(Dtype::fp16);
    block.min_compute_capability = 90;
    rows.push_back(block);
  }
  Variant step =
      planned(kAttention, kCuda, "fused_step",
              "A decode step: all after compression in one kernel, a cluster of blocks for each "
              "sequence and KV head.",
              {.mode = CompositePlan::Mode::one_kernel, .covers = kStepStages});
  step.min_compute_capability = 90;
  step.supports = decode::supports_step;
  step.rank = kStepRank;
  step.source_hash = source_hash::decode_step;
  rows.push_back(step);
}

void add_attention(std::vector<Variant>& rows, Backend backend) {
  rows.push_back(batched(kAttention, backend));
  rows.push_back(
      by_selected(backend, "batched_masked", "Batched, selected branch by `masked`.", kMasked));
  backend == Backend::cpu ? add_cpu_plans(rows) : add_cuda_plans(rows);
  rows.push_back(sequential(kAttention, backend, {}));
  rows.back().supports = several_tokens;
  add_dense(rows, kAttention, backend);
}

void add_whole(std::vector<Variant>& rows, const Composite& composite, Backend backend,
               std::span<const Part> sequential_parts) {
  rows.push_back(batched(composite, backend));
  rows.push_back(sequential(composite, backend, sequential_parts));
  add_dense(rows, composite, backend);
}

Support whole_sequences(const Problem& p, const Device&) noexcept {
  if (p.phase == Phase::prefill) return Support::yes();
  return Support::no("training has whole sequences, without cached tokens");
}
Support whole_sequences_of_a_model(const Problem& p, const Device& device) noexcept {
  const Support whole = whole_sequences(p, device);
  return whole.supported ? needs_model_dim(p, device) : whole;
}

constexpr Composite kAttentionPasses = composite<attention_both_passes_workspace>(
    kAttentionStage, whole_sequences, attention_both_passes_cost, dense_attention_both_passes_cost,
    training::launch_attention);
constexpr Composite kLayerPasses = composite<layer_both_passes_workspace>(
    kLayerStage, whole_sequences_of_a_model, layer_both_passes_cost, dense_layer_both_passes_cost,
    training::launch_layer);
constexpr Composite kModelPasses =
    composite<model_both_passes_workspace>(kModelStage, whole_model, model_both_passes_cost,
                                           dense_model_both_passes_cost, training::launch_model);

/// Both passes by the plan of a row that takes all tokens at once.
Variant both_passes(const Composite& composite, Variant row) {
  const bool cpu = row.backend == Backend::cpu;
  row.direction = kForwardBackward;
  row.supports = composite.supports;
  row.cost = row.plan.dense ? composite.dense_cost : composite.cost;
  row.workspace_bytes = cpu ? composite.cpu_workspace : composite.cuda_workspace;
  if (row.launch) row.launch = composite.launch;
  row.source_hash = composite.stages.front() == Stage::model ? source_hash::training_model
                                                             : source_hash::training;
  // Dense attention is by what is fastest, whatever its bits.
  row.deterministic = !row.plan.dense;
  return row;
}

/// Of the rows that `rows` has.
void add_both_passes(std::vector<Variant>& rows, const Composite& composite) {
  const std::vector<Variant> forward = rows;
  for (const Variant& row : forward)
    if (row.plan.mode == CompositePlan::Mode::batched) rows.push_back(both_passes(composite, row));
}

/// Of both back ends; with `passes`, the rows of both passes too.
template <class Add>
std::vector<Variant> of_both(Add add, const Composite* passes = nullptr) {
  std::vector<Variant> rows;
  for (const Backend backend : {Backend::cpu, Backend::cuda}) {
    std::vector<Variant> own;
    add(own, backend);
    if (passes) add_both_passes(own, *passes);
    rows.insert(rows.end(), own.begin(), own.end());
  }
  return rows;
}

}  // namespace

std::span<const Variant> attention_variants() {
  static const std::vector<Variant> rows = of_both(add_attention, &kAttentionPasses);
  return rows;
}

std::span<const Variant> layer_variants() {
  static const std::vector<Variant> rows = of_both(
      [](auto& all, Backend backend) { add_whole(all, kLayer, backend, kSequentialAttention); },
      &kLayerPasses);
  return rows;
}

std::span<const Variant> model_variants() {
  static const std::vector<Variant> rows =
      of_both([](auto& all, Backend backend) { add_whole(all, kModel, backend, kSequentialLayer); },
              &kModelPasses);
  return rows;
}

}  // namespace nsa
