// The one table, the signatures and the costs.
#include <array>
#include <set>

#include "catalog/cost.hpp"
#include "catch.hpp"
#include "launch_support.hpp"
#include "nsa/kernels/routing.hpp"

namespace nsa::test {
namespace {

Problem problem_125m(std::int64_t tokens) {
  Problem p;  // B 1, Hq 12, Hkv 2, D 64, l 32, d 16, l' 64, n 16, w 512
  p.seq_lens = {tokens};
  p.dtype = Dtype::bf16;
  return p;
}

double sum_over_queries(const Problem& p, std::int64_t (*seen)(std::int64_t, const Geometry&)) {
  double sum = 0;
  for (const Sequence& s : sequences_of(p)) {
    for (std::int64_t t = s.first_position(); t < s.kv_len; ++t) {
      sum += static_cast<double>(seen(t + 1, p.geometry));
    }
  }
  return sum;
}

}  // namespace

TEST_CASE(
    "the point that runs where nobody has measured is one of the row's, and may follow lengths",
    "[kernels]") {
  for (const Variant& row : catalog()) {
    for (const std::int64_t tokens : {1, 4096, 8192, 65'536}) {
      INFO(to_string(row.stages.front()) << "/" << row.name << " " << tokens);
      if (row.default_point) CHECK(row.default_point(problem_125m(tokens)) < ids_of(row).size());
    }
  }
  const std::array stages{Stage::attend_selected};
  const auto point_at = [&](std::string_view name, std::int64_t tokens) {
    const Variant& row = *find_variant(stages, name, Backend::cuda);
    return ids_of(row)[row.default_point(problem_125m(tokens))].point;
  };
  CHECK(point_at("fused_block", 8192) == Point{{"chunk", 512}});
  CHECK(point_at("fused_block", 65'536) == Point{{"chunk", 2048}});
  CHECK(point_at("fused_query", 2048) == Point{{"bq", 14}});
  CHECK(point_at("fused_query", 8192) == Point{{"bq", 30}});
}

TEST_CASE("a wish without a point takes the one for the problem at hand", "[kernels]") {
  const std::array stages{Stage::attend_selected};
  if (!find_variant(stages, "fused_block", Backend::cuda)->launch) {
    WARN("skipped: a build without CUDA");
    return;
  }
  Router::Inputs inputs;
  inputs.device.id = "cuda:0";
  inputs.device.backend = Backend::cuda;
  inputs.device.name = "a Hopper GPU";
  inputs.device.compute_capability = 90;
  inputs.api.variants.push_back({Stage::attend_selected, {{"attend_selected"}, "fused_block", {}}});
  const Router router(inputs);
  for (const auto& [tokens, chunk] : {std::pair{8192, 512}, std::pair{65'536, 2048}}) {
    const Choice choice = router.choose(Stage::attend_selected, problem_125m(tokens));
    REQUIRE(choice.variant);
    CHECK(choice.variant->name == "fused_block");
    CHECK(*choice.point == Point{{"chunk", chunk}});
  }
}

TEST_CASE("every row of the table can be found, explained and costed", "[kernels]") {
  std::set<std::tuple<std::string, Backend, Direction>> seen;
  for (const Variant& row : catalog()) {
    INFO(to_string(row.stages.front()) << "/" << row.name);
    CHECK_FALSE(row.summary.empty());
    CHECK(row.summary.back() == '.');
    CHECK(row.dtypes != 0);
    CHECK(row.cost != nullptr);
    // A sequence takes what the hungriest of its rows takes.
    CHECK((row.workspace_bytes != nullptr || row.plan.mode == CompositePlan::Mode::in_turn));
    CHECK((row.launch != nullptr || row.backend == Backend::cuda));
    CHECK(row.source_hash.size() == 16);
    CHECK(find_variant(row.stages, row.name, row.backend, row.direction) == &row);
    for (const VariantId& id : ids_of(row)) {
      CHECK(find_variant(id, row.backend, row.direction) == &row);
      CHECK(seen.emplace(to_string(id), row.backend, row.direction).second);
    }
  }
}

TEST_CASE("the table stands stage by stage, forward before backward, CPU before CUDA",
          "[kernels]") {
  const auto rows = catalog();
  for (std::size_t i = 1; i < rows.size(); ++i) {
    INFO(rows[i - 1].name << " before " << rows[i].name);
    CHECK(rows[i - 1].stages.front() <= rows[i].stages.front());
    if (rows[i - 1].stages.front() == rows[i].stages.front()) {
      CHECK(std::pair{rows[i - 1].direction, rows[i - 1].backend} <=
            std::pair{rows[i].direction, rows[i].backend});
    }
  }
}

TEST_CASE("a row says why it does not run: device, capability, direction, dtype, its own reason",
          "[kernels]") {
  const auto reason = [](const Variant& row, const Problem& p, const Device& device) {
    const Support support = supports(row, p, device);
    CHECK_FALSE(support.supported);
    return support.reason();
  };
  constexpr Stage kStages[] = {Stage::score};
  const Variant row{.stages = kStages,
                    .name = "some",
                    .backend = Backend::cuda,
                    .min_compute_capability = 90,
                    .dtypes = dtype_bit(Dtype::bf16),
                    .supports = [](const Problem& p, const Device&) noexcept {
                      return p.kv_heads == 2 ? Support::yes() : Support::no("needs two KV heads");
                    }};
  Problem p;
  Device device;
  CHECK(reason(row, p, device).find("cuda") != std::string::npos);
  device.backend = Backend::cuda;
  device.compute_capability = 80;
  CHECK(reason(row, p, device).find("90") != std::string::npos);
  device.compute_capability = 90;
  CHECK(reason(row, p, device).find("fp32") != std::string::npos);
  p.dtype = Dtype::bf16;
  CHECK(supports(row, p, device).supported);
  p.kv_heads = 4;
  CHECK(reason(row, p, device) == "needs two KV heads");
  p.direction = Direction::backward;
  CHECK(reason(row, p, device).find("forward") != std::string::npos);
}

TEST_CASE("ids are the product of the coordinates, in their order", "[kernels]") {
  static constexpr std::int64_t kTiles[] = {32, 64}, kStageCounts[] = {2, 3};
  static constexpr Coordinate kCoordinates[] = {{"bq", kTiles}, {"st", kStageCounts}};
  constexpr Stage kStages[] = {Stage::attend_selected};
  const Variant row{.stages = kStages, .name = "tile", .coordinates = kCoordinates};
  const auto ids = ids_of(row);
  REQUIRE(ids.size() == 4);
  CHECK(to_string(ids[0]) == "attend_selected/tile.bq=32.st=2");
  CHECK(to_string(ids[1]) == "attend_selected/tile.bq=32.st=3");
  CHECK(to_string(ids[3]) == "attend_selected/tile.bq=64.st=3");
}

TEST_CASE("shapes of a ragged batch follow the problem", "[kernels]") {
  Problem p = problem_125m(1);
  p.seq_lens = {3, 40};
  p.context_lens = {30, 0};
  p.head_dim_v = 32;
  p.model.model_dim = 96;
  const auto shape = [&](Stage stage, std::string_view name) {
    const TensorShape s = shape_of(stage, name, p);
    return std::vector<std::int64_t>(s.shape.begin(), s.shape.begin() + s.rank);
  };
  using Extents = std::vector<std::int64_t>;
  CHECK(shape(Stage::project_rope, "w_qkv") == Extents{12 * 64 + 3 * 2 * 96, 96});
  CHECK(shape(Stage::project_rope, "v_sel") == Extents{43, 2, 32});
  CHECK(shape(Stage::compress, "v_cmp_raw") == Extents{73, 2, 32});
  CHECK(shape(Stage::compress, "k_cmp") == Extents{2, 2, 64});  // 33 and 40 tokens: one each
  CHECK(shape(Stage::ranges, "ranges") == Extents{43, 2, 16, 2});
  CHECK(shape(Stage::gate_combine, "fc1_w") == Extents{32, 64});
  CHECK(shape(Stage::out_proj, "w_o") == Extents{96, 12 * 32});
  CHECK(shape_of(Stage::ranges, "blocks", p).dtype == Dtype::int32);
  CHECK(shape_of(Stage::score, "q", p).dtype == Dtype::bf16);
  CHECK_THROWS_AS(shape_of(Stage::score, "v_cmp", p), ContractError);
}

TEST_CASE("a row of several stages takes each input once and not what it makes itself",
          "[kernels]") {
  const auto names = [](const std::vector<TensorSpec>& specs) {
    std::vector<std::string_view> all;
    for (const TensorSpec& spec : specs) all.push_back(spec.name);
    return all;
  };
  using Names = std::vector<std::string_view>;
  constexpr Stage kBoth[] = {Stage::attend_compressed, Stage::score};
  const MergedSignature both = signature_of(kBoth);
  CHECK(names(both.inputs) == Names{"q", "k_cmp", "v_cmp"});
  CHECK(names(both.outputs) == Names{"o_cmp", "blocks"});
  constexpr Stage kChain[] = {Stage::score, Stage::ranges, Stage::attend_selected};
  const MergedSignature chain = signature_of(kChain);
  CHECK(names(chain.inputs) == Names{"q", "k_cmp", "k_sel", "v_sel"});
  CHECK(names(chain.outputs) == Names{"blocks", "ranges", "o_sel"});
  const Problem p = problem_125m(40);
  CHECK(shape_of(kBoth, "blocks", p).dtype == Dtype::int32);
  CHECK(shape_of(kBoth, "v_cmp", p).shape[0] == 1);
  CHECK_THROWS_AS(shape_of(kBoth, "k_sel", p), ContractError);
}

TEST_CASE("sequences stand behind one another in every packed tensor", "[kernels]") {
  Problem p = problem_125m(1);
  p.seq_lens = {3, 40};
  p.context_lens = {30, 0};
  const auto s = sequences_of(p);
  REQUIRE(s.size() == 2);
  CHECK(s[0].first_position() == 30);
  CHECK(s[1].q_begin == 3);
  CHECK(s[1].kv_begin == 33);
  CHECK(s[1].cmp_begin == 1);
  CHECK(s[1].cmp_len == 1);
}

TEST_CASE("closed forms of the pairs equal their sums over the queries", "[kernels]") {
  Problem p = problem_125m(1);
  p.seq_lens = {700, 1, 33, 5000};
  p.context_lens = {0, 999, 17, 3};
  CHECK(compressed_pairs(p) == sum_over_queries(p, num_compressed));
  CHECK(selected_pairs(p) == sum_over_queries(p, [](std::int64_t m, const Geometry& g) {
          return std::min(m, g.sel_count * g.sel_block);
        }));
  CHECK(window_pairs(p) == sum_over_queries(p, [](std::int64_t m, const Geometry& g) {
          return std::min(m, g.window);
        }));
  CHECK(causal_pairs(p) == sum_over_queries(p, [](std::int64_t m, const Geometry&) { return m; }));
}

TEST_CASE("costs give the published floors of the 125M shape at 64k", "[kernels]") {
  const Problem p = problem_125m(65536);
  const double flop_per_ms = 790e9, bytes_per_ms = 4.3e9;
  // 2 H (Dk + Dv) sum of min(n l', t + 1); the published .251 leaves out the keys after the query.
  CHECK(attend_selected_cost(p).flop / flop_per_ms == Approx(.2589).margin(.0001));
  CHECK(attend_compressed_cost(p).flop / flop_per_ms == Approx(.522).margin(.001));
  CHECK(score_cost(p).flop / flop_per_ms == Approx(.261).margin(.001));
  CHECK(attend_window_cost(p).flop / flop_per_ms == Approx(.130).margin(.001));
  CHECK(dense_attention_cost(p).flop / flop_per_ms == Approx(8.35).margin(.01));
  CHECK(attend_selected_cost(p).bytes / bytes_per_ms == Approx(.057).margin(.001));
  CHECK(attend_window_cost(p).bytes / bytes_per_ms == Approx(.055).margin(.001));
}

TEST_CASE("a decode step is charged for the keys it reads, not for all of the cache", "[kernels]") {
  Problem p = problem_125m(1);
  p.phase = Phase::decode;
  p.context_lens = {65535};
  const double row = 2 * 2 * 128;  // bytes of K and V of one token, bf16, two KV heads
  const double q_and_o = 2 * 12 * 128;
  CHECK(attend_window_cost(p).bytes == q_and_o + 512 * row);
  CHECK(attend_selected_cost(p).bytes == q_and_o + 1024 * row + 4 * 2 * 16);
  CHECK(attend_compressed_cost(p).bytes == q_and_o + 4095 * row);
}

}  // namespace nsa::test
