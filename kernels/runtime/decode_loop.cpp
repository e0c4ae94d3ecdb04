// A decode loop with its positions on the device (docs/nsa.md 9).
#include <algorithm>
#include <string>

#include "attention.hpp"
#include "cache.hpp"
#include "decode/step.hpp"
#include "layer.hpp"
#include "nsa/kernels/device_memory.hpp"
#include "nsa/kernels/vendor.hpp"
#include "ops.hpp"

namespace nsa {
namespace {

/// The row that computes a step by lengths on the device. What a table prefers does not count:
/// there is one such row only.
const Variant& step_row(const Router::Inputs& inputs) {
  for (const Variant& row : inputs.rows) {
    const bool attention = row.stages.size() == 1 && row.stages.front() == Stage::attention;
    if (attention && row.plan.mode == Plan::Mode::one_kernel) return row;
  }
  throw InputError("a decode step as a graph: no row of the table computes it in one kernel");
}

/// Whether somebody asks for another row of attention, or for a row of a stage that `row` computes.
bool others_asked_for(const Context& context, const Problem& problem, const Variant& row) {
  const auto asked = [&](Stage stage) {
    const Choice choice = context.router->choose(stage, problem);
    const bool outside = choice.source == Source::api || choice.source == Source::environment;
    return outside ? choice.variant : nullptr;
  };
  if (const Variant* attention = asked(Stage::attention)) return attention != &row;
  return std::ranges::any_of(row.plan.covers, asked);
}

/// Why it does not run a step of the problem; empty where it does.
std::string why_not(const Context& context, const Problem& problem, AttentionKind kind,
                    const Variant& row) {
  if (kind == AttentionKind::dense) return "dense attention has no such kernel";
  const Device& device = context.router->inputs().device;
  if (const Support here = runs_on(row, device); !here.supported) return here.reason();
  if (const Support it = runs_problem(row, problem, device); !it.supported) return it.reason();
  if (!row.launch) return why_not_built(row);
  if (context.options.branches != kAllBranches) return "it computes all three branches";
  if (others_asked_for(context, problem, row))
    return "the API or the environment asks for other rows";
  return {};
}

}  // namespace

DecodeLoop::DecodeLoop(const Context& context, const ModelConfig& config, std::span<KvCache> caches)
    : config_(config), caches_(caches) {
  expects(!caches.empty(), "one cache per layer");
  const KvCache& cache = caches.front();
  for (const KvCache& other : caches) {
    expects(other.lengths_ == cache.lengths_ && other.win_lengths_ == cache.win_lengths_ &&
                other.capacity_ == cache.capacity_ && other.win_stride_ == cache.win_stride_,
            "caches of one model");
  }
  const std::size_t batch = cache.lengths_.size();
  capacity_ = cache.capacity_;
  first_ = *std::min_element(cache.lengths_.begin(), cache.lengths_.end());
  problem_ = problem_of(config, std::vector<std::int64_t>(batch, 1),
                        std::vector<std::int64_t>(batch, capacity_ - 1));
  problem_.phase = Phase::decode;
  const Variant& row = step_row(context.router->inputs());
  const std::string reason = why_not(context, problem_, config.attention, row);
  if (!reason.empty()) {
    throw InputError("a decode step as a graph runs attention/" + std::string(row.name) + ": " +
                     reason);
  }
  chosen_ = asked_for(row);
  bounds_ = sequences_of(problem_);
  for (KvCache& each : caches) CachedLayer::zero(context, each);
  const std::size_t bytes = batch * (sizeof(decode::Standing) + 2 * sizeof(Sequence));
  standing_.memory = {cache.allocator_->allocate(bytes), KvCache::Free{cache.allocator_, bytes}};
  standing_at_ = static_cast<decode::Standing*>(standing_.memory.get());
  sequences_at_ = reinterpret_cast<Sequence*>(standing_at_ + batch);
  std::vector<decode::Standing> standing;
  for (std::size_t b = 0; b < batch; ++b) {
    standing.push_back({cache.lengths_[b], cache.win_lengths_[b]});
  }
  device::copy_to_device(standing_at_, standing.data(), batch * sizeof(decode::Standing),
                         context.stream);
}

void DecodeLoop::stepped() {
  const std::vector<std::int64_t>& lengths = caches_.front().lengths_;
  for (std::size_t b = 0; b < lengths.size(); ++b) {  // before any is changed
    if (lengths[b] < capacity_) continue;
    throw InputError("cache: sequence " + std::to_string(b) + " holds " +
                     std::to_string(capacity_) + " tokens already, which is its capacity");
  }
  const std::int64_t kept = std::max<std::int64_t>(problem_.geometry.window - 1, 0);
  for (KvCache& cache : caches_) {
    for (std::size_t b = 0; b < cache.lengths_.size(); ++b) {
      std::int64_t& stored = cache.win_lengths_[b];
      if (stored + 1 > cache.win_stride_) stored = std::min(stored, kept);
      ++stored;
      ++cache.lengths_[b];
    }
  }
}

void DecodeLoop::advance(const Context& context) {
  const KvCache& cache = caches_.front();
  const auto batch = static_cast<std::int64_t>(bounds_.size());
  decode::advance(problem_,
                  {capacity_, cache.win_stride_, num_compressed(capacity_, problem_.geometry)},
                  standing_at_, sequences_at_, sequences_at_ + batch, context.stream);
}

void DecodeLoop::model_step(const Context& context, const ModelWeights& weights,
                            const TensorView& tokens, const TensorView& logits) {
  advance(context);
  const decode::StepSequences step{sequences_at_, sequences_at_ + bounds_.size()};
  model_placed(within(context, chosen_), config_, problem_, {bounds_, step.selected}, weights,
               tokens, logits, caches_, &step);
}

void DecodeLoop::layer_step(const Context& context, const LayerWeights& weights,
                            const TensorView& x, const TensorView& y) {
  advance(context);
  const decode::StepSequences step{sequences_at_, sequences_at_ + bounds_.size()};
  layer_placed(within(context, chosen_), problem_, {bounds_, step.selected}, x, weights, y,
               &caches_.front(), AttentionKind::nsa, {}, &step);
}

}  // namespace nsa
