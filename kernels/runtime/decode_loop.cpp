// A decode loop with its positions on the device (docs/nsa.md 9).
#include <algorithm>
#include <string>

#include "attention.hpp"
#include "cache.hpp"
#include "decode/step.hpp"
#include "layer.hpp"
#include "nsa/kernels/device_memory.hpp"
#include "nsa/kernels/directions.hpp"
#include "nsa/kernels/vendor.hpp"
#include "ops.hpp"

namespace nsa {
namespace {

/// The row that computes a step by lengths on the device. What a table prefers does not count:
/// there is one such row only.
const Variant& step_row(const Router::Inputs& inputs) {
  for (const Variant& row : inputs.rows) {
    const bool attention = row.stages.size() == 1 && row.stages.front() == Stage::attention;
    if (attention && row.plan.mode == CompositePlan::Mode::one_kernel) return row;
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

struct DecodeLoop::State {
  ModelConfig config;
  std::span<KvCache> caches;
  Choice chosen;  // the row of attention that takes lengths on the device
  std::int64_t first = 0, capacity = 0;
  Problem problem;
  std::vector<Sequence> bounds;  // [batch] of the longest step
  CacheState::Rows memory;       // of the device: Standing [batch], Sequence [2, batch]
  decode::Standing* standing = nullptr;
  Sequence* sequences = nullptr;  // of the selected branch, then of the window

  decode::StepSequences step() const { return {sequences, sequences + bounds.size()}; }
  void advance(const Context& context);
};

DecodeLoop::DecodeLoop(const Context& context, const ModelConfig& config, std::span<KvCache> caches)
    : state_(std::make_unique<State>()) {
  expects(!caches.empty(), "one cache per layer");
  State& s = *state_;
  s.config = config;
  s.caches = caches;
  const CacheState& cache = KvCacheInside::of(caches.front());
  for (const KvCache& one : caches) {
    const CacheState& other = KvCacheInside::of(one);
    expects(other.lengths == cache.lengths && other.win_lengths == cache.win_lengths &&
                other.capacity == cache.capacity && other.win_stride == cache.win_stride,
            "caches of one model");
  }
  const std::size_t batch = cache.lengths.size();
  s.capacity = cache.capacity;
  s.first = *std::min_element(cache.lengths.begin(), cache.lengths.end());
  s.problem = problem_of(config, std::vector<std::int64_t>(batch, 1),
                         std::vector<std::int64_t>(batch, s.capacity - 1));
  s.problem.phase = Phase::decode;
  const Variant& row = step_row(context.router->inputs());
  const std::string reason = why_not(context, s.problem, config.attention, row);
  if (!reason.empty()) {
    throw InputError("a decode step as a graph runs attention/" + std::string(row.name) + ": " +
                     reason);
  }
  s.chosen = asked_for(row);
  s.bounds = sequences_of(s.problem);
  for (KvCache& each : caches) CachedLayer::zero(context, each);
  const std::size_t bytes = batch * (sizeof(decode::Standing) + 2 * sizeof(Sequence));
  s.memory.memory = {cache.allocator->allocate(bytes), CacheState::Free{cache.allocator, bytes}};
  s.standing = static_cast<decode::Standing*>(s.memory.memory.get());
  s.sequences = reinterpret_cast<Sequence*>(s.standing + batch);
  std::vector<decode::Standing> standing;
  for (std::size_t b = 0; b < batch; ++b) {
    standing.push_back({cache.lengths[b], cache.win_lengths[b]});
  }
  device::copy_to_device(s.standing, standing.data(), batch * sizeof(decode::Standing),
                         context.stream);
}

DecodeLoop::~DecodeLoop() = default;

std::int64_t DecodeLoop::first_context() const noexcept { return state_->first; }
std::int64_t DecodeLoop::last_context() const noexcept { return state_->capacity - 1; }
const Problem& DecodeLoop::problem() const noexcept { return state_->problem; }

void DecodeLoop::stepped() {
  State& s = *state_;
  const std::vector<std::int64_t>& lengths = KvCacheInside::of(s.caches.front()).lengths;
  for (std::size_t b = 0; b < lengths.size(); ++b) {  // before any is changed
    if (lengths[b] < s.capacity) continue;
    throw InputError("cache: sequence " + std::to_string(b) + " holds " +
                     std::to_string(s.capacity) + " tokens already, which is its capacity");
  }
  const std::int64_t kept = std::max<std::int64_t>(s.problem.geometry.window - 1, 0);
  for (KvCache& one : s.caches) {
    CacheState& cache = KvCacheInside::of(one);
    for (std::size_t b = 0; b < cache.lengths.size(); ++b) {
      std::int64_t& stored = cache.win_lengths[b];
      if (stored + 1 > cache.win_stride) stored = std::min(stored, kept);
      ++stored;
      ++cache.lengths[b];
    }
  }
}

void DecodeLoop::State::advance(const Context& context) {
  decode::kAdvance(problem,
                   {capacity, KvCacheInside::of(caches.front()).win_stride,
                    num_compressed(capacity, problem.geometry)},
                   standing, sequences, sequences + bounds.size(), context.stream);
}

void DecodeLoop::model_step(const Context& context, const ModelWeights& weights,
                            const TensorView& tokens, const TensorView& logits) {
  State& s = *state_;
  s.advance(context);
  const decode::StepSequences step = s.step();
  model_placed(
      within(context, s.chosen), s.config, s.problem, {s.bounds, step.selected},
      {.weights = weights, .tokens = tokens, .logits = logits, .caches = s.caches, .step = &step});
}

void DecodeLoop::layer_step(const Context& context, const LayerWeights& weights,
                            const TensorView& x, const TensorView& y) {
  State& s = *state_;
  s.advance(context);
  const decode::StepSequences step = s.step();
  layer_placed(within(context, s.chosen), s.problem, {s.bounds, step.selected},
               {.x = x, .weights = weights, .y = y, .cache = &s.caches.front(), .step = &step});
}

}  // namespace nsa
