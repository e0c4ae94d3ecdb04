// Rows of both passes of attention, a layer and a model, and steps that follow their decisions.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "catch.hpp"
#include "launch_support.hpp"
#include "nsa/kernels/backward_oracle.hpp"
#include "nsa/kernels/directions.hpp"
#include "training/memory.hpp"
#include "training/step.hpp"
#include "training_support.hpp"

namespace nsa::test {
namespace {

constexpr std::array kAttention{Stage::attention}, kLayer{Stage::layer}, kModel{Stage::model};
using Composite = std::span<const Stage, 1>;
/// One of those that show what they selected.
Composite a_composite() { return GENERATE(0, 1) == 0 ? Composite(kAttention) : Composite(kLayer); }

Problem both_passes(Dtype dtype) {
  Problem p = small_problem();
  p.seq_lens = {37, 3, 20};  // the second one is shorter than a block that is pooled
  p.context_lens = {0, 0, 0};
  p.geometry = {.cmp_block = 4, .cmp_stride = 2, .sel_block = 8, .sel_count = 4, .window = 6};
  p.dtype = dtype;
  p.model.layers = 2;
  p.model.vocab_size = 11;
  return in_direction(std::move(p), kForwardBackward);
}

const Variant& row(std::string_view name, Direction direction = kForwardBackward,
                   Composite composite = kAttention) {
  const Variant* found = find_variant(composite, name, Backend::cpu, direction);
  REQUIRE(found);
  return *found;
}

/// sum(o x d_o) of a forward pass; of a layer y and d_y.
double loss_of(Composite composite, const std::vector<TensorView>& inputs, const Problem& both) {
  const Problem p = in_direction(both, Direction::forward);
  const std::vector<TensorView> in(inputs.begin(), inputs.end() - 1);
  const auto out = launch(row("batched", Direction::forward, composite), p, in);
  const auto *o = out[0].view().as<const double>(), *d_o = inputs.back().as<const double>();
  double sum = 0;
  for (std::int64_t i = 0; i < out[0].view().elements(); ++i) sum += o[i] * d_o[i];
  return sum;
}

/// Routers whose table runs that row of attention in both passes.
Router following(const training::TrainingConfig& config, std::string_view name) {
  Router::Inputs in;
  ClassDecisions decisions;
  decisions.problem_class = class_of(training::batch_problem(config, kForwardBackward));
  Decision& decision = decisions.decisions.emplace_back();
  decision.stages = {"attention"};
  decision.ranges.emplace_back().variant = {{"attention"}, std::string(name), {}};
  in.table.emplace().classes.push_back(decisions);
  in.table->device = in.device;
  return Router(std::move(in));
}

/// What a step of `router` runs for the selected branch, forward and backward.
std::pair<std::string, std::string> engaged(const Router& router,
                                            const training::TrainingConfig& config) {
  Telemetry forward, backward;
  Context context;
  context.router = &router;
  context.telemetry = &forward;
  training::Trainer trainer(context, config, host_allocator(), 1);
  trainer.count_backward(&backward);
  trainer.step(some_tokens(config, 0));
  const auto selected = [](const Telemetry& telemetry) {
    for (const auto& [key, calls] : telemetry.report().engaged)
      if (key.first == "attend_selected") return key.second;
    return std::string("nothing");
  };
  return {selected(forward), selected(backward)};
}

}  // namespace

TEST_CASE("gradients of both passes are the slopes of the forward pass", "[training]") {
  const Composite composite = a_composite();
  const Problem p = both_passes(Dtype::fp64);
  const auto inputs = make_inputs(composite, p, 5);
  const auto in = views_of(inputs);
  const auto out = launch(row("batched", kForwardBackward, composite), p, in);
  constexpr double kStep = 1e-5;
  for (std::size_t i = 0; i + 1 < in.size(); ++i) {
    const TensorView gradient = out[2 + i].view();
    auto* const elements = in[i].as<double>();
    for (const std::int64_t at : {std::int64_t{0}, in[i].elements() / 2, in[i].elements() - 1}) {
      const double there = elements[at];
      elements[at] = there + kStep;
      const double above = loss_of(composite, in, p);
      elements[at] = there - kStep;
      const double below = loss_of(composite, in, p);
      elements[at] = there;
      INFO(inputs[i].name << "[" << at << "]");
      CHECK(std::abs((above - below) / (2 * kStep) - gradient.as<double>()[at]) < 1e-7);
    }
  }
}

TEST_CASE("both passes write the forward pass's own output and blocks", "[training]") {
  const Composite composite = a_composite();
  const Problem p = both_passes(Dtype::fp32);
  const auto inputs = make_inputs(composite, p, 5);
  auto in = views_of(inputs);
  const auto both = launch(row("batched", kForwardBackward, composite), p, in);
  in.pop_back();
  const auto forward = launch(row("batched", Direction::forward, composite),
                              in_direction(p, Direction::forward), in);
  CHECK(both[0].bytes == forward[0].bytes);
  CHECK(both[1].bytes == forward[1].bytes);
}

TEST_CASE("a launch of both passes takes no more workspace than it said", "[training]") {
  const Problem p = both_passes(Dtype::bf16);
  std::size_t launched = 0;
  for (const Variant& one : catalog()) {
    if (one.direction != kForwardBackward || one.backend != Backend::cpu) continue;
    const auto inputs = make_inputs(one.stages, p, 5);
    Workspace workspace;
    launch_into(make_outputs(one.stages, p), workspace, one, p, views_of(inputs));
    INFO(to_string(ids_of(one).front()));
    CHECK(workspace.peak_bytes() > 0);
    CHECK(static_cast<std::int64_t>(workspace.peak_bytes()) <= workspace_of(one, p));
    ++launched;
  }
  CHECK(launched >= 10);
}

TEST_CASE("both passes of long sequences ask for what a device has", "[training]") {
  Problem p;
  p.seq_lens = {65'536};
  p.context_lens = {0};
  p.q_heads = 12;
  p.kv_heads = 2;
  p.head_dim_k = p.head_dim_v = 64;
  p.dtype = Dtype::bf16;
  p = in_direction(std::move(p), kForwardBackward);
  for (const Variant& one : catalog()) {
    if (one.direction != kForwardBackward || one.backend != Backend::cuda ||
        one.stages.front() != Stage::attention)
      continue;
    INFO(to_string(ids_of(one).front()));
    CHECK(workspace_of(one, p) > 0);
    CHECK(workspace_of(one, p) < std::int64_t{40} << 30);
  }
}

TEST_CASE("both passes of a model are a batch of a training step, bit for bit", "[training]") {
  training::TrainingConfig config = tiny_training(GENERATE(Dtype::fp64, Dtype::bf16));
  config.model.mlp_ratio = 4;  // as models of problems have
  CpuTraining run(config);
  const std::vector<std::byte> weights = run->state().front().bytes;
  const auto tokens = some_tokens(config, 0);
  run->replay(tokens, nullptr);

  const Problem p = training::batch_problem(config, kForwardBackward);
  auto inputs = make_inputs(Stage::model, p, 5);
  for (const std::int64_t sequence : {0, 1}) {
    const std::int64_t begin = sequence * (config.seq_len + 1), to = sequence * config.seq_len;
    for (const std::int64_t shift : {0, 1}) {
      std::copy_n(tokens.begin() + begin + shift, config.seq_len,
                  inputs[static_cast<std::size_t>(shift)].view().as<std::int32_t>() + to);
    }
  }
  REQUIRE(inputs[2].bytes.size() == weights.size());
  inputs[2].bytes.assign(weights.begin(), weights.end());
  const auto out = launch(row("batched", kForwardBackward, kModel), p, views_of(inputs));
  const auto gradients = run->gradients();
  const auto launched = training::named_parameters(
      [&] {
        ModelConfig wide = config.model;
        wide.dtype = out[0].shape.dtype;
        return wide;
      }(),
      out[0].view());
  REQUIRE(gradients.size() == launched.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    INFO(gradients[i].name);
    const std::vector<std::byte> expected = run->read(gradients[i].view);
    CHECK(std::memcmp(expected.data(), launched[i].view.data, expected.size()) == 0);
  }
}

TEST_CASE("of a model every tensor of weights is compared, and few by a typical one",
          "[training]") {
  const Problem p = both_passes(Dtype::fp64);
  const auto inputs = make_inputs(Stage::model, p, 5);
  const auto in = views_of(inputs);
  const auto right = launch(row("batched", kForwardBackward, kModel), p, in);
  const BackwardOracle oracle(Stage::model, p, in);
  const double most = both_passes_tolerance(Stage::model, p.dtype);
  CHECK(oracle.verify(views_of(right)).worst_row_error <= most);
  const auto dense = launch(row("dense", kForwardBackward, kModel), p, in);
  CHECK(oracle.verify(views_of(dense)).worst_row_error > most);
  const BackwardOracle of_dense(Stage::model, p, in, {}, {}, Role::baseline);
  CHECK(of_dense.verify(views_of(dense)).worst_row_error <= most);
  ModelConfig config = config_of(p);
  for (std::size_t i = 0; i < training::named_parameters(config, right[0].view()).size(); ++i) {
    auto changed = right;
    const auto one = training::named_parameters(config, changed[0].view())[i];
    auto* const first = one.view.as<double>();
    for (std::int64_t at = 0; at < one.view.elements(); ++at) first[at] *= 1.01;
    INFO(one.name);
    const auto verdict = oracle.verify(views_of(changed));
    CHECK(verdict.worst_row_error > most);
    CHECK(verdict.worst_row == static_cast<std::int64_t>(i));
  }
}

namespace {

/// What belongs to one KV head, and can be compared when only that one is computed.
bool is_of_heads(const HostTensor& output) {
  return output.shape.rank == 3 || output.name == "d_w_qkv" || output.name == "d_w_o";
}
/// An element of the second of two KV heads: of d_w_qkv in the last rows, of v_win.
std::int64_t of_second_head(const TensorView& view) { return view.elements() - 1; }

}  // namespace

TEST_CASE("of large both passes one KV head is compared, and nothing that all add to",
          "[training]") {
  const Composite composite = a_composite();
  const Problem p = both_passes(Dtype::fp64);
  const auto inputs = make_inputs(composite, p, 5);
  const auto in = views_of(inputs);
  const auto right = launch(row("batched", kForwardBackward, composite), p, in);
  REQUIRE(p.kv_heads == 2);
  const double most = both_passes_tolerance(composite.front(), p.dtype);
  for (const std::uint64_t head : {0, 1}) {
    const BackwardOracle oracle(composite.front(), p, in, {}, {head, 0});
    const BackwardOracle whole(composite.front(), p, in);
    CHECK(oracle.kv_heads() == 1);
    CHECK(oracle.verify(views_of(right)).worst_row_error <= most);
    CHECK(whole.verify(views_of(right)).worst_row_error <= most);
    for (std::size_t output = 0; output < right.size(); ++output) {
      if (right[output].name == "blocks") continue;
      auto changed = right;
      const TensorView view = changed[output].view();
      view.as<double>()[of_second_head(view)] += 1;
      INFO(changed[output].name << ", head " << head);
      CHECK(whole.verify(views_of(changed)).worst_row_error > most);
      const bool seen = is_of_heads(right[output]) && head == 1;
      CHECK((oracle.verify(views_of(changed)).worst_row_error > most) == seen);
    }
  }
}

TEST_CASE("plans that take token after token, or one kernel, have no backward pass", "[training]") {
  const Problem p = both_passes(Dtype::fp32);
  for (const Variant& one : catalog()) {
    if (!std::ranges::equal(one.stages, kAttention) || one.direction != Direction::forward ||
        find_variant(kAttention, one.name, one.backend, kForwardBackward))
      continue;
    CHECK((one.name == "sequential" || one.name == "fused_step"));
    CHECK(not_of_this_kind(one, p).reason() ==
          std::string(one.name) + " computes the forward direction only");
  }
  Problem decode = p;
  decode.phase = Phase::decode;
  decode.seq_lens = {1, 1, 1};
  decode.context_lens = {40, 40, 40};
  CHECK(supports(row("batched"), decode, Device{}).reason() ==
        "training has whole sequences, without cached tokens");
}

TEST_CASE("a step follows what is decided for both passes of attention", "[training]") {
  const training::TrainingConfig config = tiny_training(Dtype::fp32);
  const auto usual = engaged(Router{Device{}}, config);
  // Backward, `packed` has no row of its own: it is decided by itself.
  CHECK(usual.first != "packed");
  CHECK(engaged(following(config, "batched_packed"), config) ==
        std::pair{std::string("packed"), usual.second});
  CHECK(usual.second != "masked");
  CHECK(engaged(following(config, "batched_masked"), config) ==
        std::pair{std::string("masked"), std::string("masked")});
}

TEST_CASE("both passes are decided apart from the forward pass, and explained alone",
          "[training]") {
  const training::TrainingConfig config = tiny_training(Dtype::fp32);
  const Router router = following(config, "batched_masked");
  const Problem forward = training::batch_problem(config, Direction::forward);
  const Problem both = in_direction(forward, kForwardBackward);
  CHECK(router.choose(Stage::attention, both).variant == &row("batched_masked"));
  CHECK(router.choose(Stage::attention, forward).variant == &row("batched", Direction::forward));
  const auto lines = explain(router, both).decisions;
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].stages == std::vector{Stage::attention});
  CHECK(lines[0].variant == "attention/batched_masked");
  CHECK(lines[1].variant == "layer/batched");
  CHECK(lines[2].variant == "model/batched");
  for (const Explanation& line :
       explain(router, in_direction(forward, Direction::backward)).decisions)
    CHECK(line.stages.front() < Stage::attention);
}

}  // namespace nsa::test
