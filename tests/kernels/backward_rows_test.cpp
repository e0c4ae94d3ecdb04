// Every backward row of the CPU against the fp64 reference.
#include "backward_support.hpp"
#include "catch.hpp"

namespace nsa::test {
namespace {

std::vector<Problem> problems() {
  Dice dice(27);
  std::vector<Problem> all{small_problem(), middle_problem(), middle_problem(1)};
  all.push_back(middle_problem(67));
  all.back().seq_lens = {5, 1, 67};
  all.back().context_lens = {0, 0, 0};
  all.push_back(middle_problem(21));  // chunks after contexts
  all.back().phase = Phase::chunked_prefill;
  all.back().seq_lens = {7, 21};
  all.back().context_lens = {29, 64};
  all.push_back(middle_problem(90));
  all.back().q_heads = 32, all.back().kv_heads = 2;  // 16 heads of a group
  all.back().geometry = {4, 2, 80, 3, 0};            // blocks of more than a mask, no window
  for (int i = 0; i < 6; ++i) {
    Problem p = random_problem(dice);
    for (auto& length : p.seq_lens) length = std::min<std::int64_t>(length, 60);
    p.q_heads = std::min<std::int64_t>(p.q_heads, 12 * p.kv_heads);
    all.push_back(p);
  }
  for (Problem& p : all) p = backward_of(p);
  return all;
}

void check_row(const Variant& row, const Problem& p, const BackwardInputs& inputs, Dtype gradients,
               const std::vector<reference::Row>& expected, double tolerance) {
  const Stage stage = row.stages.front();
  for (const VariantId& id : ids_of(row)) {
    INFO(to_string(id) << " backward on " << describe(p) << ", gradients in "
                       << to_string(gradients));
    const auto outputs = make_gradients(stage, p, gradients);
    BackwardLaunch{
        .row = row, .problem = p, .in = inputs.views(), .saved = inputs.saved(), .point = id.point}(
        views_of(outputs));
    check_gradients(stage, expected, outputs, tolerance);
  }
}

/// Of every row that runs the problem; returns how many were checked.
int check_stage(Stage stage, const Problem& p, double query_factor = 1,
                double tolerance_factor = 1) {
  const BackwardInputs inputs = make_backward_inputs(stage, p, 7, {}, query_factor);
  const auto expected = reference::run_stage_backward(stage, p, inputs.views());
  const Dtype wide = p.dtype == Dtype::fp64 ? Dtype::fp64 : Dtype::fp32;
  int checked = 0;
  for (const Variant* row : backward_rows(stage)) {
    if (!supports(*row, p, Device{}).supported) continue;
    for (const Dtype gradients : {p.dtype, wide}) {
      check_row(*row, p, inputs, gradients, expected,
                tolerance_factor * gradient_tolerance(p.dtype));
    }
    ++checked;
  }
  return checked;
}

}  // namespace

TEST_CASE("every backward row agrees with the reference on every shape and storage type",
          "[kernels][backward]") {
  const Dtype dtype = GENERATE(Dtype::fp64, Dtype::fp32, Dtype::bf16, Dtype::fp16);
  for (const Stage stage : kBackwardStages) {
    for (Problem p : problems()) {
      p.dtype = dtype;
      INFO(to_string(stage));
      CHECK(check_stage(stage, p) > 0);
    }
  }
}

TEST_CASE("gradients of steep logits are right", "[kernels][backward]") {
  // Logits 32 times as large round 32 times as coarsely, whatever computes them.
  const Dtype dtype = GENERATE(Dtype::fp64, Dtype::fp32);
  for (const Stage stage : kAttendStages) {
    Problem p = backward_of(middle_problem());
    p.dtype = dtype;
    CHECK(check_stage(stage, p, 32, 32) > 0);
  }
}

TEST_CASE("a backward row that finds no log-sum-exp makes it", "[kernels][backward]") {
  const Problem p = backward_of(middle_problem());
  for (const Stage stage : kAttendStages) {
    BackwardInputs inputs = make_backward_inputs(stage, p, 3);
    inputs.kept.clear();
    const auto expected = reference::run_stage_backward(stage, p, inputs.views());
    for (const Variant* row : backward_rows(stage))
      check_row(*row, p, inputs, p.dtype, expected, gradient_tolerance(p.dtype));
  }
}

TEST_CASE("a gradient is added to what is there where its bit says so, else overwritten",
          "[kernels][backward]") {
  const Dtype dtype = GENERATE(Dtype::fp64, Dtype::fp32, Dtype::bf16);
  Problem p = backward_of(middle_problem(70));
  p.dtype = dtype;
  for (const Stage stage : kBackwardStages) {
    const BackwardInputs inputs = make_backward_inputs(stage, p, 11);
    const auto expected = reference::run_stage_backward(stage, p, inputs.views());
    for (const Variant* row : backward_rows(stage)) {
      for (std::size_t bit = 0; bit < expected.size(); ++bit) {
        auto outputs = make_gradients(stage, p, dtype);
        auto right = expected;
        for (std::size_t i = 0; i < right[bit].size(); ++i) {
          const double before = static_cast<double>(i % 17) - 8;
          set_element(outputs[bit], static_cast<std::int64_t>(i), before);
          right[bit][i] += before;
        }
        BackwardLaunch{.row = *row,
                       .problem = p,
                       .in = inputs.views(),
                       .saved = inputs.saved(),
                       .accumulate = 1u << bit}(views_of(outputs));
        INFO(to_string(ids_of(*row).front()) << " adds to output " << bit);
        check_gradients(stage, right, outputs, gradient_tolerance(dtype));
      }
    }
  }
}

TEST_CASE("a deterministic backward row gives the same bits from run to run",
          "[kernels][backward]") {
  for (const Stage stage : kBackwardStages) {
    const Problem p = backward_of(middle_problem(200));
    const BackwardInputs inputs = make_backward_inputs(stage, p, 5);
    for (const Variant* row : backward_rows(stage)) {
      if (!row->deterministic) continue;
      const BackwardLaunch launch{
          .row = *row, .problem = p, .in = inputs.views(), .saved = inputs.saved()};
      const auto first = make_gradients(stage, p, p.dtype);
      launch(views_of(first));
      for (int run = 0; run < 3; ++run) {
        const auto again = make_gradients(stage, p, p.dtype);
        launch(views_of(again));
        INFO(to_string(ids_of(*row).front()));
        for (std::size_t i = 0; i < first.size(); ++i) CHECK(first[i].bytes == again[i].bytes);
      }
    }
  }
}

TEST_CASE("absent gradients are left out, and the others are the same", "[kernels][backward]") {
  const Problem p = backward_of(middle_problem(50));
  for (const Stage stage : kBackwardStages) {
    const BackwardInputs inputs = make_backward_inputs(stage, p, 5);
    for (const Variant* row : backward_rows(stage)) {
      const BackwardLaunch launch{
          .row = *row, .problem = p, .in = inputs.views(), .saved = inputs.saved()};
      const auto all = make_gradients(stage, p, p.dtype);
      launch(views_of(all));
      for (std::size_t absent = 0; absent < all.size(); ++absent) {
        const auto some = make_gradients(stage, p, p.dtype);
        auto views = views_of(some);
        views[absent] = TensorView{};
        launch(views);
        INFO(to_string(ids_of(*row).front()) << " without " << all[absent].name);
        for (std::size_t i = 0; i < all.size(); ++i)
          if (i != absent) CHECK(some[i].bytes == all[i].bytes);
      }
    }
  }
}

TEST_CASE("gates that are fixed, and branches that are off, have their gradients",
          "[kernels][backward]") {
  const Problem p = backward_of(middle_problem(30));
  const BackwardInputs inputs = make_backward_inputs(Stage::gate_combine, p, 9);
  std::vector<AttentionOptions> all(4);
  all[0].uniform_gate = true;
  all[1].force_branch = Branch::sel;
  all[2].branches = bit_of(Branch::cmp) | bit_of(Branch::win);
  all[3].gate_tau = 0.5;
  for (const AttentionOptions& options : all) {
    const auto expected =
        reference::run_stage_backward(Stage::gate_combine, p, inputs.views(), options);
    for (const Variant* row : backward_rows(Stage::gate_combine)) {
      const auto outputs = make_gradients(Stage::gate_combine, p, p.dtype);
      BackwardLaunch{
          .row = *row, .problem = p, .in = inputs.views(), .options = options}(views_of(outputs));
      check_gradients(Stage::gate_combine, expected, outputs, gradient_tolerance(p.dtype));
    }
  }
}

TEST_CASE("a router has a backward row for every problem of a stage with a gradient",
          "[kernels][backward][routing]") {
  const Router router{Device{}};
  for (const Stage stage : kBackwardStages) {
    for (const Problem& p : problems()) {
      const Choice choice = router.choose(stage, p);
      REQUIRE(choice.variant != nullptr);
      CHECK(choice.variant->direction == Direction::backward);
      CHECK(choice.variant->stages.front() == stage);
    }
  }
  Problem p = problems().front();
  CHECK(router.choose(Stage::score, p).variant == nullptr);
  p.direction = Direction::forward;
  CHECK(router.choose(Stage::attend_window, p).variant->direction == Direction::forward);
}

TEST_CASE("a caller asks for rows of either direction by themselves",
          "[kernels][backward][routing]") {
  Problem p = backward_of(middle_problem());
  const std::string asked(backward_rows(Stage::attend_selected).back()->name);
  Router::Inputs in;
  VariantId id;
  id.stages = {"attend_selected"}, id.name = asked;
  in.api.backward = {{Stage::attend_selected, id}};
  const Router router(std::move(in));
  CHECK(router.choose(Stage::attend_selected, p).source == Source::api);
  p.direction = Direction::forward;
  CHECK(router.choose(Stage::attend_selected, p).source == Source::built_in);
}

TEST_CASE("variables that name a row without a backward pass leave backward as it is",
          "[kernels][backward][routing]") {
  Router::Inputs in;
  in.environment = EnvSnapshot{};
  in.environment.values = {{"NSA_USE_SEL_VARLEN", "1"}};
  const Router router(std::move(in));
  Problem p = middle_problem();
  CHECK(router.choose(Stage::attend_selected, p).source == Source::environment);
  const Choice backward = router.choose(Stage::attend_selected, backward_of(p));
  CHECK(backward.source == Source::built_in);
  CHECK(backward.fallback_reason == nullptr);
}

}  // namespace nsa::test
