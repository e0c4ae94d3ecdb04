// The golden layer: through the reference, and through the CPU rows of every stage, chained.
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>

#include "catch.hpp"
#include "launch_support.hpp"
#include "nsa/schemas/generator.hpp"
#include "reference/reference.hpp"

namespace nsa::test {
namespace {

const nlohmann::json& golden() {
  static const nlohmann::json document = nlohmann::json::parse(
      std::ifstream(std::string(NSA_SOURCE_DIR) + "/tests/golden/layer_s40.json"));
  return document;
}

std::vector<double> generated(std::size_t count, std::uint64_t seed, double scale) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = generate(i, seed, scale);
  return values;
}

/// Inputs of the layer with the random numbers of the golden vectors; owns what `views` borrow.
struct GoldenLayer {
  Problem problem = small_problem();
  std::vector<double> x = generated(320, 1, 4), w_qkv, fc1_w = generated(8, 10, 2),
                      fc1_b = generated(2, 11, .5), fc2_w = generated(6, 12, 2),
                      fc2_b = generated(3, 13, .5), w_o = generated(128, 9, 1);
  std::vector<TensorView> views;

  GoldenLayer() {
    // rows of w_qkv: q, k_cmp, k_sel, k_win, v_cmp, v_sel, v_win
    const std::tuple<std::size_t, std::uint64_t, double> parts[] = {
        {128, 2, 2}, {64, 7, 2}, {64, 3, 2}, {64, 5, 2}, {64, 8, 1}, {64, 4, 1}, {64, 6, 1}};
    for (const auto& [count, seed, scale] : parts) {
      const auto part = generated(count, seed, scale);
      w_qkv.insert(w_qkv.end(), part.begin(), part.end());
    }
    const auto view = [](std::vector<double>& data, std::initializer_list<std::int64_t> shape) {
      return make_view(data.data(), Dtype::fp64, shape);
    };
    views = {view(x, {40, 8}),    view(w_qkv, {64, 8}), view(fc1_w, {2, 4}), view(fc1_b, {2}),
             view(fc2_w, {3, 2}), view(fc2_b, {3}),     view(w_o, {8, 16})};
  }
};

template <class Container>
void require_close(const Container& actual, std::size_t offset, const nlohmann::json& expected) {
  const double tolerance = golden().at("tolerance");
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO("element " << offset + i);
    REQUIRE(std::abs(actual[offset + i] - expected[i].get<double>()) <= tolerance);
  }
}

void require_golden_output(const std::vector<double>& y) {
  REQUIRE(y.size() == 320);
  for (const auto& [t, row] : golden().at("y").items()) require_close(y, std::stoul(t) * 8, row);
  const double sum = std::accumulate(y.begin(), y.end(), 0.0);
  const double mean_abs =
      std::accumulate(y.begin(), y.end(), 0.0, [](double a, double b) { return a + std::abs(b); }) /
      320;
  REQUIRE(std::abs(sum - golden().at("sum_of_y").get<double>()) <= 1e-6);
  REQUIRE(std::abs(mean_abs - golden().at("mean_abs_of_y").get<double>()) <= 1e-6);
}

/// Ranges of a row without the (0, 0) padding.
nlohmann::json used_ranges(const std::int32_t* row, std::int64_t n) {
  auto pairs = nlohmann::json::array();
  for (std::int64_t k = 0; k < n; ++k) {
    if (row[2 * k + 1] > 0) pairs.push_back({row[2 * k], row[2 * k + 1]});
  }
  return pairs;
}

}  // namespace

TEST_CASE("the generator gives the raw hashes of the golden vectors", "[kernels]") {
  for (std::uint32_t i = 0; i < 3; ++i) {
    REQUIRE(fmix32(i + 1000003u) == golden().at("raw_hashes_of_seed_1")[i].get<std::uint32_t>());
  }
}

TEST_CASE("the reference layer reproduces the golden vectors with all details", "[kernels]") {
  const GoldenLayer layer;
  const auto trace = reference::run_layer(layer.problem, layer.views);
  require_close(layer.x, 0, golden().at("x_0"));
  require_close(trace.q, 39 * 16, golden().at("q_39_head_0"));
  require_close(trace.k_cmp, 0, golden().at("k_cmp_0_group_0"));
  require_close(trace.p_grp[3 * 2], 0, golden().at("p_grp_3"));
  const auto& last = golden().at("row_39");
  for (std::size_t g = 0; g < 2; ++g) {
    require_close(trace.p_grp[39 * 2 + g], 0, last.at("p_grp")[g]);
    require_close(trace.gates, (39 * 2 + g) * 3, last.at("gates")[g]);
  }
  require_close(trace.o_cmp, 39 * 16, last.at("head_0_o_cmp"));
  require_close(trace.o_sel, 39 * 16, last.at("head_0_o_sel"));
  require_close(trace.o_win, 39 * 16, last.at("head_0_o_win"));
  require_golden_output(trace.y);
}

TEST_CASE("the reference layer selects the golden ranges", "[kernels]") {
  const GoldenLayer layer;
  const auto trace = reference::run_layer(layer.problem, layer.views);
  for (const auto& [t, groups] : golden().at("ranges").items()) {
    for (std::size_t g = 0; g < 2; ++g) {
      const auto row = (std::stoul(t) * 2 + g) * 8;
      REQUIRE(used_ranges(trace.ranges.data() + row, 4) == groups[g]);
    }
  }
  nlohmann::json different = nlohmann::json::array();
  for (std::size_t t = 0; t < 40; ++t) {
    const auto* row = trace.blocks.data() + t * 8;
    if (!std::equal(row, row + 4, row + 4)) different.push_back(t);
  }
  REQUIRE(different == golden().at("groups_choose_differently_at"));
}

TEST_CASE("the CPU rows of all stages, chained, reproduce the golden vectors", "[kernels]") {
  const GoldenLayer layer;
  const Problem& p = layer.problem;
  const std::string selected = GENERATE("masked", "packed", "fused_query");
  const std::string score = GENERATE("materialised", "streamed");
  const auto project =
      launch(cpu_variant(Stage::project_rope, "gemm"), p, {layer.views[0], layer.views[1]});
  const auto x = views_of(project);
  const auto pooled = launch(cpu_variant(Stage::compress, "avg"), p, {x[1], x[2]});
  const auto cmp = views_of(pooled);
  const auto blocks = launch(cpu_variant(Stage::score, score), p, {x[0], cmp[0]});
  const auto ranges = launch(cpu_variant(Stage::ranges, "ranges_v2"), p, {blocks[0].view()});
  const auto o_cmp =
      launch(cpu_variant(Stage::attend_compressed, "sdpa_math"), p, {x[0], cmp[0], cmp[1]});
  const auto o_sel = launch(cpu_variant(Stage::attend_selected, selected), p,
                            {x[0], x[3], x[4], blocks[0].view(), ranges[0].view()});
  const auto o_win = launch(cpu_variant(Stage::attend_window, "sdpa_math"), p, {x[0], x[5], x[6]});
  const auto o = launch(cpu_variant(Stage::gate_combine, "gate_fused"), p,
                        {x[0], o_cmp[0].view(), o_sel[0].view(), o_win[0].view(), layer.views[2],
                         layer.views[3], layer.views[4], layer.views[5]});
  const auto y = launch(cpu_variant(Stage::out_proj, "gemm"), p, {o[0].view(), layer.views[6]});
  const auto* data = y[0].view().as<const double>();
  require_golden_output({data, data + 320});
}

}  // namespace nsa::test
