// The memory model of a forward pass: the pass itself, over addresses that nobody owns, with
// operations that only count what they take.
#include "nsa/kernels/forward_bytes.hpp"

#include <algorithm>

#include "runtime/memory/reserve.hpp"
#include "runtime/ops.hpp"
#include "runtime/stage.hpp"
#include "training/arenas.hpp"
#include "training/ops.hpp"
#include "training/stages.hpp"

namespace nsa {
namespace {

class CountingOps final : public RuntimeOps {
 public:
  explicit CountingOps(Backend backend)
      : backend_(backend), products_(training::counting_ops(backend)) {}

  bool only_counts() const noexcept override { return true; }
  const Sequence* place(const Context& context,
                        std::span<const Sequence> sequences) const override {
    if (backend_ == Backend::cpu) return sequences.data();
    return context.workspace->take<Sequence>(static_cast<std::int64_t>(sequences.size())).data();
  }
  void launch(const Context& context, const StageLaunch& launch) const override {
    if (launch.call.stage == Stage::attend_selected) {
      const WorkspaceScope ahead_of_the_need(*context.workspace);
      context.workspace->take(static_cast<std::size_t>(
          reserved_bytes(*context.router, launch.call.problem, *context.within)));
    }
    training::counting().launch(context, launch);
  }
  void linear(const Context& context, const TensorView& x, const TensorView& w,
              const TensorView& y) const override {
    products_.linear(context, x, w, y);
  }
  void fill(const Context&, const TensorView&, std::byte) const override {}
  void copy(const Context&, std::span<const RowsCopy>) const override {}
  void rms_norm(const Context&, const TensorView&, const TensorView&,
                const TensorView&) const override {}
  void add_norm(const Context&, const TensorView&, const TensorView&, const TensorView&,
                const TensorView&) const override {}
  void silu(const Context&, const TensorView&) const override {}
  void embed(const Context&, const TensorView&, const TensorView&,
             const TensorView&) const override {}

 private:
  Backend backend_;
  const training::TrainingOps& products_;
};

/// What a pass of one layer takes of its workspace: all layers take the same, one after another.
std::size_t counted_peak(const Router& router, ModelConfig config, const Problem& problem,
                         const AttentionOptions& options) {
  config.layers = std::min<std::int64_t>(config.layers, 1);
  const CountingOps ops(router.inputs().device.backend);
  training::Nowhere nowhere;
  Workspace workspace(nowhere, training::Nowhere::kEndless);
  Context context;
  context.router = &router;
  context.workspace = &workspace;
  context.options = options;
  context.ops = &ops;
  const std::int64_t rows = problem.total_tokens();
  void* const somewhere = nowhere.allocate(1);  // not looked at
  model_forward(context, config, problem,
                bind_weights(config, make_view(somewhere, config.dtype, {parameter_count(config)})),
                make_view(somewhere, Dtype::int32, {rows}),
                make_view(somewhere, config.dtype, {rows, config.vocab_size}));
  return workspace.peak_bytes();
}

}  // namespace

ForwardBytes predict_forward(const Router& router, const ModelConfig& config,
                             const Problem& problem, const AttentionOptions& options) {
  const auto element = static_cast<std::int64_t>(size_of(config.dtype));
  return {.weights = parameter_count(config) * element,
          .workspace = static_cast<std::int64_t>(counted_peak(router, config, problem, options)),
          .inputs = problem.total_tokens() * (static_cast<std::int64_t>(sizeof(std::int32_t)) +
                                              config.vocab_size * element)};
}

}  // namespace nsa
