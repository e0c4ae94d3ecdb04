#include "steps.hpp"

#include <algorithm>
#include <chrono>
#include <memory>

#include "nsa/kernels/qkv_rows.hpp"
#include "nsa/probes/graph.hpp"
#include "nsa/probes/nvtx.hpp"
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

HostTensor empty_tensor(Dtype dtype, std::int64_t rows, std::int64_t columns) {
  HostTensor tensor{"out", {dtype, 2, {rows, columns, 0, 0}}, {}};
  tensor.make_room();
  return tensor;
}

/// Synthetic tokens, or rows of x for a single layer.
class Input {
 public:
  Input(const RunDevice& device, const RunPlan& plan, std::uint64_t seed)
      : device_(device), plan_(plan), seed_(seed) {}

  /// Tensors for `tokens` rows; the previous ones are gone.
  void resize(std::int64_t tokens) {
    const ModelConfig& c = plan_.config;
    out_ = {empty_tensor(c.dtype, tokens, plan_.layer ? c.model_dim : c.vocab_size), device_};
    in_ = {plan_.layer ? activations(tokens) : random_tokens(tokens), device_};
  }
  const TensorView& in() const noexcept { return in_.view(); }
  const TensorView& out() const noexcept { return out_.view(); }

 private:
  HostTensor random_tokens(std::int64_t tokens) const {
    HostTensor tensor{"tokens", {Dtype::int32, 1, {tokens, 0, 0, 0}}, {}};
    tensor.make_room();
    const auto vocab = static_cast<std::uint32_t>(plan_.config.vocab_size);
    for (std::int64_t i = 0; i < tokens; ++i) {
      const auto counter =
          static_cast<std::uint32_t>(static_cast<std::uint64_t>(i) + 1000003u * seed_);
      tensor.view().as<std::int32_t>()[i] = static_cast<std::int32_t>(fmix32(counter) % vocab);
    }
    return tensor;
  }

  /// The layer stage's own input of that seed: x is its first tensor.
  HostTensor activations(std::int64_t tokens) const {
    const Problem p = problem_of(plan_.config, {tokens}, {0});
    return std::move(make_inputs(Stage::layer, p, seed_).front());
  }

  const RunDevice& device_;
  const RunPlan& plan_;
  std::uint64_t seed_;
  RunTensor in_, out_;
};

class Runner {
 public:
  Runner(const Context& context, const RunDevice& device, const RunPlan& plan,
         const RunOptions& options)
      : context_(context),
        device_(device),
        plan_(plan),
        flat_(make_weights(plan.config, options.seed), device),
        weights_(bind_weights(plan.config, flat_.view())),
        input_(device, plan, options.seed) {}

  Problem prepare(std::int64_t new_tokens, std::int64_t cached) {
    input_.resize(plan_.batch * new_tokens);
    return problem_of(plan_.config, repeated(new_tokens, plan_.batch),
                      repeated(cached, plan_.batch));
  }

  std::int64_t step(const Problem& problem, std::span<KvCache> caches) {
    return time_ns([&] {
      launch(problem, caches);
      device_.synchronize();
    });
  }

  /// From now on replay() does what `launch` does. The workspace has to have grown.
  void capture(const std::function<void()>& launch) {
    graph_ = probes::capture_graph(
        device_.device(), device_.stream(),
        [](void* body) { (*static_cast<const std::function<void()>*>(body))(); },
        const_cast<std::function<void()>*>(&launch));
  }
  void replay() { graph_->launch(); }

  void launch(const Problem& problem, std::span<KvCache> caches) {
    launch(context_, problem, caches);
  }
  /// In a context of the caller's, who wants to see what it does.
  void launch(const Context& context, const Problem& problem, std::span<KvCache> caches) {
    if (plan_.layer) {
      attention_layer(context, problem, weights_.blocks[0].attention,
                      {.x = input_.in(), .y = input_.out()}, caches.empty() ? nullptr : &caches[0],
                      plan_.config.attention);
    } else {
      model_forward(context, plan_.config, problem, weights_, input_.in(), input_.out(), caches);
    }
  }
  /// One decode step by lengths on the device.
  void launch(const Context& context, DecodeLoop& loop) {
    if (plan_.layer) {
      loop.layer_step(context, weights_.blocks[0].attention, input_.in(), input_.out());
    } else {
      loop.model_step(context, weights_, input_.in(), input_.out());
    }
  }
  const Context& context() const noexcept { return context_; }

 private:
  const Context& context_;
  const RunDevice& device_;
  const RunPlan& plan_;
  RunTensor flat_;
  ModelWeights weights_;
  Input input_;
  std::unique_ptr<probes::GraphReplay> graph_;
};

/// Bytes that a step has to read: weights once, K and V of each branch for each sequence.
double decode_bytes(const RunPlan& plan) {
  const ModelConfig& c = plan.config;
  const Geometry& g = c.geometry;
  const auto element = static_cast<double>(size_of(c.dtype));
  const std::int64_t n = plan.seq_len;
  std::int64_t rows = n;
  if (c.attention == AttentionKind::nsa) {
    rows = num_compressed(n, g) + std::min(g.sel_count * g.sel_block, n) + std::min(g.window, n);
  }
  const double cached = static_cast<double>(plan.batch * c.layers * rows * c.kv_heads *
                                            (c.head_dim_k + c.head_dim_v));
  std::int64_t weights = parameter_count(c) - c.vocab_size * c.model_dim;  // a row of the embedding
  if (plan.layer) {
    weights = c.model_dim * (qkv_rows(c) + c.q_heads * c.head_dim_v);
  }
  return (static_cast<double>(weights) + cached) * element;
}

/// A decode loop after a prefill. With `graph`, each step is a replay of one graph.
class Decoding {
 public:
  Decoding(Runner& runner, const RunDevice& device, const RunPlan& plan, bool graph,
           RunTracer* tracer)
      : runner_(runner),
        device_(device),
        plan_(plan),
        caches_(make_caches(plan.config, plan.batch, decode_capacity(plan), device.allocator())) {
    const Problem prefill = runner.prepare(plan.seq_len, 0);
    seen(tracer, [&](const Context& context) { runner.launch(context, prefill, caches_); });
    runner.prepare(1, plan.seq_len);  // x of one token, from now on
    if (graph) loop_ = std::make_unique<DecodeLoop>(runner.context(), plan.config, caches_);
    seen(tracer, [this](const Context& context) { step(context); });
    for (std::int64_t i = 1; i < kDecodeWarmup; ++i) step(runner.context());
    device.synchronize();
    runner.context().workspace->reset();
    if (graph) runner.capture([this] { runner_.launch(runner_.context(), *loop_); });
    replay_ = graph;
  }

  void run(RunTimes& times) {
    const std::int64_t grown = runner_.context().workspace->grow_events();
    for (std::int64_t i = 0; i < plan_.decode; ++i) {
      times.decode_ns.push_back(time_ns([&] {
        step(runner_.context());
        device_.synchronize();
      }));
    }
    const std::int64_t all = time_ns([&] {
      for (std::int64_t i = 0; i < plan_.decode; ++i) step(runner_.context());
      device_.synchronize();
    });
    times.decode_flowing_ns = all / plan_.decode;
    times.decode_grow_events = runner_.context().workspace->grow_events() - grown;
    times.decode_bytes = decode_bytes(plan_);
  }

 private:
  /// Something that is not timed, under the tracer where there is one.
  void seen(RunTracer* tracer, const std::function<void(const Context&)>& launch) {
    if (tracer) {
      tracer->trace(runner_.context(), launch);
    } else {
      launch(runner_.context());
      device_.synchronize();
    }
  }

  void step(const Context& context) {
    if (replay_) {
      runner_.replay();
    } else if (loop_) {
      runner_.launch(context, *loop_);
    } else {
      const std::int64_t cached = caches_.front().length(0);
      runner_.launch(
          context,
          problem_of(plan_.config, repeated(1, plan_.batch), repeated(cached, plan_.batch)),
          caches_);
    }
    if (loop_) loop_->stepped();
  }

  Runner& runner_;
  const RunDevice& device_;
  const RunPlan& plan_;
  std::vector<KvCache> caches_;
  std::unique_ptr<DecodeLoop> loop_;
  bool replay_ = false;
};

double flop_of(const RunPlan& plan, const Problem& problem) {
  if (!plan.layer) return forward_flop(plan.config, problem);
  const bool dense = plan.config.attention == AttentionKind::dense;
  for (const Variant& row : catalog()) {
    const bool layer = row.stages.size() == 1 && row.stages.front() == Stage::layer;
    if (layer && row.plan.dense == dense) return row.cost(problem).flop;
  }
  throw ContractError("expected: the layer's rows in the catalog");
}

/// Room for a step, so that no step allocates: what was predicted of a model, an upper bound of one
/// layer.
void reserve(const Context& context, const RunPlan& plan, const Problem& problem,
             const std::optional<ForwardBytes>& predicted) {
  if (predicted) {
    context.workspace->reserve(static_cast<std::size_t>(predicted->workspace));
  } else if (plan.config.attention == AttentionKind::nsa) {
    const Stage composite = plan.layer ? Stage::layer : Stage::model;
    context.workspace->reserve(workspace_bytes(*context.router, composite, problem));
  }
}

}  // namespace

RunTimes run_steps(const Context& context, const RunDevice& device, const RunPlan& plan,
                   const RunOptions& options, const RunHooks& hooks) {
  Runner runner(context, device, plan, options);
  const Problem problem = runner.prepare(plan.seq_len, 0);
  RunTimes times;
  times.tokens_per_step = problem.total_tokens();
  times.flop_per_step = flop_of(plan, problem);
  reserve(context, plan, problem, hooks.predicted);
  times.first_call_ns = runner.step(problem, {});
  if (hooks.after_first_call) hooks.after_first_call(times.first_call_ns);
  context.workspace->reset();  // what it grew by becomes one piece, which a graph may hold
  if (options.graph) runner.capture([&] { runner.launch(problem, {}); });
  const auto step = [&] {
    return time_ns([&] {
      options.graph ? runner.replay() : runner.launch(problem, {});
      device.synchronize();
    });
  };
  for (std::int64_t i = 1; i < options.warmup; ++i) step();
  for (std::int64_t i = 0; i < options.steps; ++i) {
    {
      const probes::Range range(("step " + std::to_string(i)).c_str());
      times.step_ns.push_back(step());
    }
    hooks.after_step(i, times.step_ns.back());
  }
  if (hooks.tracer)
    hooks.tracer->trace(context, [&](const Context& seen) { runner.launch(seen, problem, {}); });
  if (plan.decode > 0) Decoding(runner, device, plan, options.graph, hooks.tracer).run(times);
  return times;
}

}  // namespace nsa::cli
