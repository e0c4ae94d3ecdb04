// The rows of the composites, for both back ends.
#include <array>

#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "catalog/stages.hpp"
#include "composite_bounds.hpp"
#include "decode/step.hpp"
#include "dense.hpp"
#include "nsa/kernels/device_memory.hpp"
#include "nsa/kernels/runtime.hpp"
#include "plans.hpp"
#include "source_hashes.hpp"
#include "vendor/launch.hpp"
#include "vendor/support.hpp"

namespace nsa {
namespace {

constexpr std::array kAttentionStage{Stage::attention};
constexpr std::array kLayerStage{Stage::layer};
constexpr std::array kModelStage{Stage::model};

template <Backend kOn>
Context context_of(const LaunchArgs& args, const Plan& plan) {
  Context context;
  context.router = &router_of(plan, kOn);
  context.workspace = &args.workspace;
  context.stream = args.stream;
  context.constants = args.constants;
  return context;
}

AttentionTensors attention_tensors(const LaunchArgs& args) {
  const auto& in = args.in;
  return {in[0], in[1], in[2], in[3],  in[4],       in[5],      in[6],
          in[7], in[8], in[9], in[10], args.out[0], args.out[1]};
}

void run_attention(const Context& context, const LaunchArgs& args, AttentionKind kind) {
  if (kind == AttentionKind::nsa) {
    return attention(context, args.problem, attention_tensors(args), args.saved);
  }
  dense_attention(context, args.problem, attention_tensors(args));
  no_blocks(context, args.out[1]);
}

void run_layer(const Context& context, const LaunchArgs& args, AttentionKind kind) {
  const auto& in = args.in;
  attention_layer(context, args.problem, in[0], {in[1], in[2], in[3], in[4], in[5], in[6]},
                  args.out[0], nullptr, kind, args.out[1]);
  if (kind == AttentionKind::dense) no_blocks(context, args.out[1]);
}

void run_model(const Context& context, const LaunchArgs& args, AttentionKind kind) {
  ModelConfig config = config_of(args.problem);
  config.attention = kind;
  model_forward(context, config, args.problem, bind_weights(config, args.in[1]), args.in[0],
                args.out[0]);
}

/// What the rows of one composite share on one back end, all but name and launch.
using Run = void (*)(const Context&, const LaunchArgs&, AttentionKind);
using Supports = Support (*)(const Problem&, const Device&, bool);
using Bytes = std::int64_t (*)(const Problem&, Backend);

template <Backend kOn, Supports kSupports, Bytes kBytes>
Variant composite(std::span<const Stage> stages, Cost (*cost)(const Problem&)) {
  Variant row{.stages = stages,
              .backend = kOn,
              .dtypes = kOn == Backend::cpu ? kAllDtypes : kDeviceDtypes,
              .supports = [](const Problem& p, const Device& d) { return kSupports(p, d, false); },
              .cost = cost,
              .workspace_bytes = [](const Problem& p) { return kBytes(p, kOn); },
              .source_hash = source_hash::runtime};
  if (kOn == Backend::cuda) row.min_compute_capability = 80;
  return row;
}

/// A row that follows a plan.
template <Backend kOn, const Plan& kPlan, Run kRun>
Variant planned(Variant row, std::string_view what) {
  row.name = kPlan.name;
  row.what = what;
  if (kOn == Backend::cuda && !device::built()) return row;
  row.launch = [](const LaunchArgs& args) {
    kRun(context_of<kOn>(args, kPlan), args, AttentionKind::nsa);
  };
  return row;
}

/// The same composite with dense causal attention: another answer, so measured and never chosen.
template <Backend kOn, Supports kSupports, Run kRun>
Variant dense(Variant row, Cost (*cost)(const Problem&)) {
  row.name = "dense";
  row.role = Role::yardstick;
  row.what = "Dense causal attention instead of NSA: what it has to beat.";
  row.supports = [](const Problem& p, const Device& d) { return kSupports(p, d, true); };
  row.cost = cost;
  if (kOn == Backend::cuda && !device::built()) return row;
  row.launch = [](const LaunchArgs& args) {
    kRun(context_of<kOn>(args, plans::kBatched), args, AttentionKind::dense);
  };
  return row;
}

/// Dense attention by a vendor's row of the window stage, as the plan has it: the break-even
/// length is that of the best dense attention there is.
template <const Plan& kPlan, Supports kSupports, Support (*kVendor)(const Problem&, const Device&),
          Run kRun>
Variant dense_by(Variant row, bool built, std::string_view what) {
  row.name = kPlan.name;
  row.dtypes = dtype_bit(Dtype::bf16) | dtype_bit(Dtype::fp16);
  row.what = what;
  row.supports = [](const Problem& p, const Device& d) {
    const Support composite = kSupports(p, d, true);
    return composite.supported ? kVendor(dense_problem(p), d) : composite;
  };
  row.launch = nullptr;
  if (!built) return row;
  row.launch = [](const LaunchArgs& args) {
    kRun(context_of<Backend::cuda>(args, kPlan), args, AttentionKind::dense);
  };
  return row;
}

/// `dense`, and on a GPU what vendors have.
template <Backend kOn, Supports kSupports, Run kRun>
void add_dense(std::vector<Variant>& rows, const Variant& row, Cost (*cost)(const Problem&)) {
  rows.push_back(dense<kOn, kSupports, kRun>(row, cost));
  if (kOn != Backend::cuda) return;
  const Variant ours = rows.back();
  rows.push_back(dense_by<plans::kDenseSdpa, kSupports, vendor::supports_sdpa, kRun>(
      ours, vendor::kSdpa.window != nullptr, "Dense causal attention by cuDNN."));
  rows.push_back(dense_by<plans::kDenseFa2, kSupports, vendor::supports_fa2, kRun>(
      ours, vendor::kFa2Varlen.window != nullptr,
      "Dense causal attention by FlashInfer's FlashAttention-2."));
}

/// One token is the same by any plan.
Support several_tokens(const Problem& p, const Device& device) {
  if (p.phase != Phase::decode) return supports_attention(p, device, false);
  return Support::no("a decode step has one token: sequential and batched are the same");
}

Support supports_fused_block(const Problem& p, const Device& device) {
  static constexpr std::array kSelected{Stage::attend_selected};
  const Variant* row = find_variant(kSelected, plans::kBlock.selected, Backend::cuda);
  const Support selected = supports(*row, p, device);
  return selected.supported ? supports_attention(p, device, false) : selected;
}

Support supports_fused_step(const Problem& p, const Device& device) {
  const Support pooling = supports_pooling(p, device);
  return pooling.supported ? decode::supports_step(p, device) : pooling;
}

constexpr std::string_view kBatched = "All tokens through each stage at once.";
constexpr std::string_view kSequential =
    "Token after token, as a decode loop: what the seeds' default prefill did.";

template <Backend kOn>
std::vector<Variant> attention_rows() {
  const Variant row =
      composite<kOn, supports_attention, attention_workspace>(kAttentionStage, attention_cost);
  Variant sequential = planned<kOn, plans::kSequential, run_attention>(row, kSequential);
  sequential.supports = several_tokens;
  std::vector<Variant> rows{
      planned<kOn, plans::kBatched, run_attention>(row, kBatched),
      planned<kOn, plans::kMasked, run_attention>(row, "Batched, selected branch by `masked`.")};
  if (kOn == Backend::cpu) {
    rows.push_back(
        planned<kOn, plans::kPacked, run_attention>(row, "Batched, selected branch by `packed`."));
    rows.push_back(planned<kOn, plans::kVarlen, run_attention>(
        row, "Batched, selected branch by `varlen_v2`."));
    rows.push_back(planned<kOn, plans::kDensePrefix, run_attention>(
        row, "Batched, selected branch by `dense_prefix`."));
  } else {
    rows.push_back(planned<kOn, plans::kStreams, run_attention>(
        row, "Batched, the window branch beside the others on a stream of its own."));
    Variant block = row;
    block.dtypes = dtype_bit(Dtype::bf16) | dtype_bit(Dtype::fp16);
    block.min_compute_capability = 90;
    block.supports = supports_fused_block;
    rows.push_back(planned<kOn, plans::kBlock, run_attention>(
        block, "Batched, selected branch by `fused_block`."));
    rows.push_back(planned<kOn, plans::kStreamsBlock, run_attention>(
        block, "The same, with the window branch on a stream of its own."));
    Variant step = planned<kOn, plans::kFusedStep, run_attention>(
        row,
        "A decode step: all behind compression in one kernel, a cluster of blocks for each "
        "sequence and KV head.");
    step.min_compute_capability = 90;
    step.supports = supports_fused_step;
    step.source_hash = source_hash::decode_step;
    rows.push_back(step);
  }
  rows.push_back(sequential);
  add_dense<kOn, supports_attention, run_attention>(rows, row, dense_attention_cost);
  return rows;
}

template <Backend kOn, Supports kSupports, Bytes kBytes, Run kRun>
std::vector<Variant> whole_rows(std::span<const Stage> stages, Cost (*cost)(const Problem&),
                                Cost (*dense_cost)(const Problem&)) {
  const Variant row = composite<kOn, kSupports, kBytes>(stages, cost);
  std::vector<Variant> rows{planned<kOn, plans::kBatched, kRun>(row, kBatched),
                            planned<kOn, plans::kSequential, kRun>(row, kSequential)};
  add_dense<kOn, kSupports, kRun>(rows, row, dense_cost);
  return rows;
}

template <Backend kOn>
std::vector<Variant> layer_rows() {
  return whole_rows<kOn, supports_layer, layer_workspace, run_layer>(kLayerStage, layer_cost,
                                                                     dense_layer_cost);
}
template <Backend kOn>
std::vector<Variant> model_rows() {
  return whole_rows<kOn, supports_model, model_workspace, run_model>(kModelStage, model_cost,
                                                                     dense_model_cost);
}

}  // namespace

std::span<const Variant> attention_variants() {
  static const std::vector<Variant> rows =
      both_back_ends(attention_rows<Backend::cpu>(), attention_rows<Backend::cuda>());
  return rows;
}

std::span<const Variant> layer_variants() {
  static const std::vector<Variant> rows =
      both_back_ends(layer_rows<Backend::cpu>(), layer_rows<Backend::cuda>());
  return rows;
}

std::span<const Variant> model_variants() {
  static const std::vector<Variant> rows =
      both_back_ends(model_rows<Backend::cpu>(), model_rows<Backend::cuda>());
  return rows;
}

}  // namespace nsa
