#include "run_steps.hpp"

#include <algorithm>
#include <chrono>

#include "nsa/schemas/generator.hpp"

namespace nsa::cli {
namespace {

std::int64_t time_ns(const std::function<void()>& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() -
                                                              begin)
      .count();
}

std::vector<std::int64_t> repeated(std::int64_t value, std::int64_t count) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(count), value);
}

/// Synthetic tokens, or rows of x for a single layer.
class Input {
 public:
  Input(const RunPlan& plan, std::uint64_t seed) : plan_(plan), seed_(seed) {}

  /// Tensors for `tokens` rows; the previous ones are gone.
  void resize(std::int64_t tokens) {
    const ModelConfig& c = plan_.config;
    const std::int64_t width = plan_.layer ? c.model_dim : c.vocab_size;
    out_.assign(static_cast<std::size_t>(tokens * width) * size_of(c.dtype), std::byte{0});
    out = make_view(out_.data(), c.dtype, {tokens, width});
    if (plan_.layer) {
      make_activations(tokens);
    } else {
      make_tokens(tokens);
    }
  }

  TensorView in, out;

 private:
  void make_tokens(std::int64_t tokens) {
    in_.resize(static_cast<std::size_t>(tokens) * sizeof(std::int32_t));
    in = make_view(in_.data(), Dtype::int32, {tokens});
    const auto vocab = static_cast<std::uint32_t>(plan_.config.vocab_size);
    for (std::int64_t i = 0; i < tokens; ++i) {
      const auto counter =
          static_cast<std::uint32_t>(static_cast<std::uint64_t>(i) + 1000003u * seed_);
      in.as<std::int32_t>()[i] = static_cast<std::int32_t>(fmix32(counter) % vocab);
    }
  }

  void make_activations(std::int64_t tokens) {
    // The layer stage's own input of that seed: x is its first tensor.
    Problem p = problem_of(plan_.config, {tokens}, {0});
    HostTensor x = std::move(make_inputs(Stage::layer, p, seed_).front());
    in_ = std::move(x.bytes);
    in = make_view(in_.data(), plan_.config.dtype, {tokens, plan_.config.model_dim});
  }

  const RunPlan& plan_;
  std::uint64_t seed_;
  std::vector<std::byte> in_, out_;
};

class Runner {
 public:
  Runner(const Context& context, const RunPlan& plan, const RunOptions& options)
      : context_(context),
        plan_(plan),
        flat_(make_weights(plan.config, options.seed)),
        weights_(bind_weights(plan.config, flat_.view())),
        input_(plan, options.seed) {}

  Problem prepare(std::int64_t new_tokens, std::int64_t cached) {
    input_.resize(plan_.batch * new_tokens);
    return problem_of(plan_.config, repeated(new_tokens, plan_.batch),
                      repeated(cached, plan_.batch));
  }

  std::int64_t step(const Problem& problem, std::span<KvCache> caches) {
    return time_ns([&] {
      if (plan_.layer) {
        attention_layer(context_, problem, input_.in, weights_.blocks[0].attention, input_.out,
                        caches.empty() ? nullptr : &caches[0], plan_.config.attention);
      } else {
        model_forward(context_, plan_.config, problem, weights_, input_.in, input_.out, caches);
      }
    });
  }

 private:
  const Context& context_;
  const RunPlan& plan_;
  HostTensor flat_;
  ModelWeights weights_;
  Input input_;
};

void decode(Runner& runner, const RunPlan& plan, RunTimes& times) {
  std::vector<KvCache> caches = make_caches(plan.config, plan.batch, plan.seq_len + plan.decode);
  runner.step(runner.prepare(plan.seq_len, 0), caches);
  for (std::int64_t i = 0; i < plan.decode; ++i) {
    const Problem p = runner.prepare(1, plan.seq_len + i);
    times.decode_ns.push_back(runner.step(p, caches));
  }
}

double flop_of(const RunPlan& plan, const Problem& problem) {
  if (!plan.layer) return forward_flop(plan.config, problem);
  const bool dense = plan.config.attention == AttentionKind::dense;
  const std::array stage{Stage::layer};
  const Variant* row = find_variant(stage, dense ? "dense" : "batched", Backend::cpu);
  expects(row, "the layer's row in the catalog");
  return row->cost(problem).flop;
}

}  // namespace

std::int64_t median_of(std::vector<std::int64_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

RunTimes run_steps(const Context& context, const RunPlan& plan, const RunOptions& options,
                   const std::function<void(std::int64_t, std::int64_t)>& after_step) {
  Runner runner(context, plan, options);
  const Problem problem = runner.prepare(plan.seq_len, 0);
  RunTimes times;
  times.tokens_per_step = problem.total_tokens();
  times.flop_per_step = flop_of(plan, problem);
  times.first_call_ns = runner.step(problem, {});
  for (std::int64_t i = 1; i < options.warmup; ++i) runner.step(problem, {});
  for (std::int64_t i = 0; i < options.steps; ++i) {
    times.step_ns.push_back(runner.step(problem, {}));
    after_step(i, times.step_ns.back());
  }
  if (plan.decode > 0) decode(runner, plan, times);
  return times;
}

}  // namespace nsa::cli
