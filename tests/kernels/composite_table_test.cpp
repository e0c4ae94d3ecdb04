// Rows that run other rows: their parts, their sequences, and hashes that follow what they run.
#include <algorithm>
#include <deque>
#include <set>

#include "catalog/composite_hash.hpp"
#include "catch.hpp"
#include "launch_support.hpp"
#include "nsa/kernels/directions.hpp"

namespace nsa::test {
namespace {

/// A copy of the table whose plans point into the copy.
class Copy {
 public:
  Copy() : rows_(catalog().begin(), catalog().end()) {
    const auto of = [&](const Variant* original) {
      return &rows_[static_cast<std::size_t>(original - catalog().data())];
    };
    for (Variant& row : rows_) {
      auto& parts = parts_.emplace_back(row.plan.parts.begin(), row.plan.parts.end());
      for (Part& part : parts) part.row = of(part.row);
      row.plan.parts = parts;
    }
  }
  /// Names of the composites of the back end whose hash changes when `touched` is compiled anew.
  std::set<std::string> changed_by(std::span<const Stage> stages, std::string_view touched) {
    const std::vector<std::string> before = hashes();
    Variant& row = *std::ranges::find_if(rows_, [&](const Variant& r) {
      return r.backend == Backend::cuda && r.direction == Direction::forward && r.name == touched &&
             std::ranges::equal(r.stages, stages);
    });
    const std::string_view own = row.source_hash;
    row.source_hash = "compiled anew";
    const std::vector<std::string> after = hashes();
    row.source_hash = own;
    std::set<std::string> changed;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (is_composite(rows_[i]) && before[i] != after[i])
        changed.insert(to_string(ids_of(rows_[i]).front()));
    }
    return changed;
  }

 private:
  std::vector<std::string> hashes() {
    std::vector<std::string_view> own;
    for (const Variant& row : rows_) own.push_back(row.source_hash);
    std::deque<std::string> kept;
    hash_composites(rows_, kept);
    std::vector<std::string> made;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      made.emplace_back(rows_[i].source_hash);
      rows_[i].source_hash = own[i];
    }
    return made;
  }

  std::vector<Variant> rows_;
  std::deque<std::vector<Part>> parts_;
};

std::string name_of(const Variant& row) {
  return stages_text(row.stages) + "/" + std::string(row.name);
}

}  // namespace

TEST_CASE("each part of a plan is a row of its stage and back end", "[kernels]") {
  for (const Variant& row : catalog()) {
    INFO(name_of(row));
    for (const Part& part : row.plan.parts) {
      REQUIRE(part.row);
      CHECK(part.row->name == part.name);
      CHECK(part.row->backend == row.backend);
      CHECK(part.row->stages.size() == 1);
      CHECK(part.row->stages.front() == part.stage);
      CHECK(row.plan.part(part.stage) == part.row);
    }
    if (row.plan.mode == CompositePlan::Mode::in_turn)
      CHECK(row.plan.parts.size() == row.stages.size());
  }
}

TEST_CASE("a row over several stages stands beside every sequence of exact rows of these",
          "[kernels]") {
  int spans = 0;
  for (const Variant& whole : catalog()) {
    if (whole.stages.size() < 2 || is_composite(whole)) continue;
    ++spans;
    std::size_t expected = 1;
    for (const Stage stage : whole.stages) {
      expected *= static_cast<std::size_t>(std::ranges::count_if(catalog(), [&](const Variant& r) {
        return r.backend == whole.backend && r.direction == whole.direction &&
               r.stages.size() == 1 && r.stages[0] == stage && r.role == Role::candidate &&
               r.precision == Precision::native;
      }));
    }
    const auto sequences = std::ranges::count_if(catalog(), [&](const Variant& r) {
      return r.backend == whole.backend && r.direction == whole.direction &&
             r.plan.mode == CompositePlan::Mode::in_turn &&
             std::ranges::equal(r.stages, whole.stages);
    });
    INFO(name_of(whole));
    CHECK(static_cast<std::size_t>(sequences) == expected);
    CHECK(expected > 1);
  }
  CHECK(spans == 2);  // one on each back end
}

TEST_CASE("a sequence supports what all of its rows support", "[kernels]") {
  const Stage both[] = {Stage::attend_compressed, Stage::score};
  const Variant& row = *find_variant(both, "fa2_dense+materialised", Backend::cuda);
  Device gpu;
  gpu.id = "cuda:0";
  gpu.backend = Backend::cuda;
  gpu.compute_capability = 90;
  Problem p;
  p.seq_lens = {64};
  p.dtype = Dtype::fp32;  // FlashInfer stores 16 bits
  CHECK_FALSE(runs_problem(row, p, gpu).supported);
  p.dtype = Dtype::bf16;
  CHECK(runs_problem(row, p, gpu).supported);
  p.head_dim_k = 96;
  CHECK(runs_problem(row, p, gpu).reason().starts_with("attend_compressed: FlashInfer"));
}

TEST_CASE("a composite is old when a row changes that its plan can run, and no other",
          "[kernels]") {
  Copy table;
  const Stage selected[] = {Stage::attend_selected}, project[] = {Stage::project_rope};
  const auto query = table.changed_by(selected, "fused_query");
  CHECK(query.contains("attention/batched"));
  CHECK(query.contains("layer/batched"));
  CHECK(query.contains("layer/sequential"));  // by way of attention/sequential
  CHECK(query.contains("model/batched"));
  CHECK_FALSE(query.contains("attention/batched_masked"));
  CHECK_FALSE(query.contains("attention/fused_step"));
  CHECK_FALSE(query.contains("attention/dense"));
  const auto masked = table.changed_by(selected, "masked");
  CHECK(masked.contains("attention/batched_masked"));
  CHECK(masked.contains("attention/batched"));
  CHECK_FALSE(table.changed_by(selected, "packed").contains("attention/batched"));  // a slow path
  const auto gemm = table.changed_by(project, "gemm");
  CHECK(gemm.contains("layer/batched"));
  CHECK(gemm.contains("layer/dense"));
  CHECK_FALSE(gemm.contains("attention/batched"));
  const Stage window[] = {Stage::attend_window};
  const auto sdpa = table.changed_by(window, "sdpa");
  CHECK(sdpa.contains("attention/dense_sdpa"));
  CHECK(sdpa.contains("model/dense_sdpa"));
  CHECK_FALSE(sdpa.contains("attention/dense_fa2"));
  const Stage compressed[] = {Stage::attend_compressed};
  const auto fa2 = table.changed_by(compressed, "fa2_dense");
  CHECK(fa2.contains("attend_compressed+score/fa2_dense+materialised"));
  CHECK_FALSE(fa2.contains("attend_compressed+score/fused+materialised"));
}

TEST_CASE("what a row says of itself is complete", "[kernels]") {
  for (const Variant& row : catalog()) {
    INFO(name_of(row));
    const bool cuda = row.backend == Backend::cuda;
    CHECK((row.fp32_tolerance == 0 || (row.dtypes & dtype_bit(Dtype::fp32)) != 0));
    CHECK((row.fp32_tolerance == 0 || row.precision == Precision::reduced));
    CHECK((row.library == Library::none || cuda));
    CHECK((!row.waits_for_host || cuda));
    CHECK((row.role != Role::slow_path || !cuda || row.waits_for_host));
    CHECK((row.reserve == Reserve::none || row.stages.front() == Stage::attend_selected));
    CHECK(is_composite(row) ==
          (row.stages.front() >= Stage::attention || row.name.find('+') != row.name.npos));
    if (is_composite(row)) CHECK(row.kernels.own.empty());
  }
}

TEST_CASE("rows of a stage that have a rank have one of their own", "[kernels]") {
  std::set<std::tuple<std::string, Backend, Direction, int>> seen;
  for (const Variant& row : catalog()) {
    if (row.rank >= kUnranked) continue;
    INFO(name_of(row) << " " << row.rank);
    if (row.plan.mode == CompositePlan::Mode::in_turn) continue;  // sums of their parts' ranks
    CHECK(seen.emplace(stages_text(row.stages), row.backend, row.direction, row.rank).second);
  }
}

}  // namespace nsa::test
