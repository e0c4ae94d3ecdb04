// How a table serves problems and devices that are not in it.
#include "catch.hpp"
#include "routing_support.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

Choice choose(ThresholdTable table, const Problem& p) {
  Router::Inputs in = inputs();
  in.table = std::move(table);
  static std::vector<Router> routers;  // choices point into them
  routers.emplace_back(std::move(in));
  return routers.back().choose(Stage::attend_selected, p);
}

ClassDecisions another(const Problem& p, std::string_view variant) {
  return always(cpu(), variant, p).classes.front();
}

}  // namespace

TEST_CASE("a class of the table serves its own problems exactly", "[kernels][routing]") {
  const Choice choice = choose(always(cpu(), "packed"), prefill(77));
  CHECK(choice.variant->name == "packed");
  CHECK(choice.fit == Fit::exact);
  CHECK(choice.device_fit == DeviceFit::exact);
  REQUIRE(choice.range);
  CHECK(choice.range->variant.name == "packed");
}

TEST_CASE("another batch or overlap is served by the nearest bin", "[kernels][routing]") {
  ThresholdTable t = always(cpu(), "packed", prefill(2048, 1));
  t.classes.push_back(another(prefill(2048, 32), "gather"));
  Problem p = prefill(2048, 3);
  CHECK(choose(t, p).variant->name == "packed");
  CHECK(choose(t, p).fit == Fit::nearest_bin);
  p = prefill(2048, 16);
  CHECK(choose(t, p).variant->name == "gather");
  p = prefill(2048, 1);
  p.selection.overlap = 0.95;
  CHECK(choose(t, p).fit == Fit::nearest_bin);
}

TEST_CASE("another shape is served by the nearest one", "[kernels][routing]") {
  ThresholdTable t = always(cpu(), "packed");
  Problem large = prefill(2048);
  large.q_heads = 64;
  large.kv_heads = 4;
  large.head_dim_k = 192;
  large.head_dim_v = 128;
  t.classes.push_back(another(large, "gather"));
  Problem p = prefill(2048);
  p.q_heads = 16;
  CHECK(choose(t, p).variant->name == "packed");
  CHECK(choose(t, p).fit == Fit::nearest_shape);
  large.head_dim_k = 128;
  CHECK(choose(t, large).variant->name == "gather");
}

TEST_CASE("a class of the same dtype is nearer than one of the same shape", "[kernels][routing]") {
  Problem bf16 = prefill(2048);
  bf16.dtype = Dtype::bf16;
  Problem small = bf16;
  small.q_heads = 4;
  ThresholdTable t = always(cpu(), "packed", prefill(2048));
  t.classes.push_back(another(small, "gather"));
  CHECK(choose(t, bf16).variant->name == "gather");
}

TEST_CASE("another phase or direction is not served at all", "[kernels][routing]") {
  const Choice choice = choose(always(cpu(), "packed"), decode(4096));
  CHECK(choice.variant->name == "fused_query");
  CHECK(choice.source == Source::built_in);
  CHECK(choice.fit == Fit::built_in);
}

TEST_CASE("a class without a decision for the stage leaves it to the next class",
          "[kernels][routing]") {
  ThresholdTable t =
      table(cpu(), prefill(2048), {decision("ranges", {range(0, {}, id("ranges", "ranges_v1"))})});
  t.classes.push_back(another(prefill(2048, 3), "gather"));
  const Choice choice = choose(t, prefill(2048));
  CHECK(choice.variant->name == "gather");
  CHECK(choice.fit == Fit::nearest_bin);
}

TEST_CASE("ranges are half-open and what lies outside them is built in", "[kernels][routing]") {
  const ThresholdTable t =
      table(cpu(), prefill(2048),
            {decision("attend_selected", {range(16, 512, id("attend_selected", "packed")),
                                          range(512, 4096, id("attend_selected", "gather"))})});
  CHECK(choose(t, prefill(15)).source == Source::built_in);
  CHECK(choose(t, prefill(16)).variant->name == "packed");
  CHECK(choose(t, prefill(511)).variant->name == "packed");
  CHECK(choose(t, prefill(512)).variant->name == "gather");
  CHECK(choose(t, prefill(4095)).variant->name == "gather");
  CHECK(choose(t, prefill(4096)).source == Source::built_in);
}

TEST_CASE("a tuned point comes with the choice", "[kernels][routing]") {
  const ThresholdTable t =
      table(cpu(), prefill(2048),
            {decision("attend_selected",
                      {range(0, {}, id("attend_selected", "fused_query", {{"bq", 64}}))})});
  CHECK(*choose(t, prefill(2048)).point == Point{{"bq", 64}});
  CHECK(*Router(inputs()).choose(Stage::attend_selected, prefill(8)).point == Point{{"bq", 32}});
}

TEST_CASE("decisions that were timed eagerly come before those of a graph", "[kernels][routing]") {
  Decision graph = decision("attend_selected", {range(0, {}, id("attend_selected", "packed"))});
  graph.launch = LaunchMode::graph;
  const Decision eager =
      decision("attend_selected", {range(0, {}, id("attend_selected", "gather"))});
  CHECK(choose(table(cpu(), prefill(8), {graph}), prefill(8)).variant->name == "packed");
  CHECK(choose(table(cpu(), prefill(8), {graph, eager}), prefill(8)).variant->name == "gather");
  CHECK(choose(table(cpu(), prefill(8), {eager, graph}), prefill(8)).variant->name == "gather");
}

TEST_CASE("a device climbs its own ladder", "[kernels][routing]") {
  Device h200;
  h200.id = "cuda:0";
  h200.backend = Backend::cuda;
  h200.name = "NVIDIA H200";
  h200.compute_capability = 90;
  h200.multiprocessors = 132;
  Device h100 = h200;
  h100.name = "NVIDIA H100";
  Device a100 = h200;
  a100.name = "NVIDIA A100";
  a100.compute_capability = 80;
  Device slice = h200;
  slice.mig = true;
  slice.multiprocessors = 16;
  CHECK(fit_of(h200, h200) == DeviceFit::exact);
  CHECK(fit_of(h100, h200) == DeviceFit::same_architecture);
  CHECK(fit_of(a100, h200) == DeviceFit::nearest);
  CHECK(fit_of(slice, h200) == DeviceFit::same_architecture);
  CHECK(fit_of(cpu(), h200) == DeviceFit::built_in);
  CHECK(fit_of(cpu("Test CPU", 4), cpu("Test CPU", 8)) == DeviceFit::same_architecture);
}

TEST_CASE("a table of another device is used and said aloud, one of another back end is not used",
          "[kernels][routing]") {
  Router::Inputs near_in = inputs();
  near_in.table = always(cpu("Other CPU"), "packed");
  const Router near(std::move(near_in));
  const Choice choice = near.choose(Stage::attend_selected, prefill(2048));
  CHECK(choice.variant->name == "packed");
  CHECK(choice.device_fit == DeviceFit::same_architecture);
  CHECK(near.device_fit() == DeviceFit::same_architecture);
  REQUIRE(near.warnings().size() == 1);
  CHECK(near.warnings()[0].find("Other CPU") != std::string::npos);

  Device gpu = cpu("NVIDIA H200");
  gpu.backend = Backend::cuda;
  Router::Inputs far_in = inputs();
  far_in.table = always(gpu, "packed");
  const Router far(std::move(far_in));
  CHECK(chosen(far, Stage::attend_selected, prefill(2048)) == "fused_query");
  CHECK(far.device_fit() == DeviceFit::built_in);
  CHECK(far.warnings().size() == 1);
}
