// One workspace for problems that shrink and grow: the memory predicted is never exceeded, and what
// the last launch left there changes nothing.
#include <cstring>

#include "attend_support.hpp"
#include "catch.hpp"

namespace nsa::test {
namespace {

/// Host memory full of NaN, so that a read of memory that nobody wrote shows.
class NanAllocator final : public Allocator {
 public:
  void* allocate(std::size_t bytes) override {
    void* data = host_allocator().allocate(bytes);
    std::memset(data, 0xFF, bytes);
    return data;
  }
  void deallocate(void* data, std::size_t bytes) noexcept override {
    host_allocator().deallocate(data, bytes);
  }
};

}  // namespace

TEST_CASE("a workspace that shrinks and grows gives the same answers within the predicted bytes",
          "[kernels][attend]") {
  for (const Stage stage : kAttendStages) {
    for (const Variant* variant : cpu_rows(stage)) {
      NanAllocator allocator;
      Workspace workspace(allocator);
      for (const std::int64_t tokens : {70, 5, 200, 1, 130}) {
        Problem problem = middle_problem(tokens);
        problem.dtype = tokens == 200 ? Dtype::fp64 : Dtype::bf16;
        INFO(to_string(stage) << " " << variant->name << " " << describe(problem));
        const auto inputs = make_inputs(stage, problem, 21);
        const auto in = views_of(inputs);
        auto outputs = make_outputs(variant->stages, problem);
        workspace.reset();
        launch_into(outputs, workspace, *variant, problem, in);
        const auto verdict = SpanOracle(variant->stages, problem, in).verify(views_of(outputs));
        CHECK(verdict.worst_row_error <= row_tolerance(variant->stages, problem.dtype));
        CHECK(verdict.poison_left == 0);
        Workspace fresh;
        launch_into(outputs, fresh, *variant, problem, in);
        CHECK(static_cast<std::int64_t>(fresh.peak_bytes()) <= variant->workspace_bytes(problem));
      }
    }
  }
}

TEST_CASE("packed and varlen note the rows and tokens that they needed", "[kernels][attend]") {
  const Problem problem = middle_problem(100);
  const auto inputs = make_inputs(Stage::attend_selected, problem, 22);
  const auto need_of = [&](std::string_view name) {
    auto outputs = make_outputs(Stage::attend_selected, problem);
    Workspace workspace;
    launch_into(outputs, workspace, cpu_variant(Stage::attend_selected, name), problem,
                views_of(inputs));
    return workspace.need();
  };
  // 200 rows; token t < 64 has t + 1 keys, later ones 3 whole blocks and t mod 16 + 1 keys.
  std::int64_t keys = 0;
  for (std::int64_t t = 0; t < 100; ++t) keys += 2 * (t < 64 ? t + 1 : 48 + t % 16 + 1);
  for (const char* name : {"varlen_v1", "varlen_v2"}) {
    INFO(name);
    CHECK(need_of(name).varlen_n == 200);
    CHECK(need_of(name).varlen_k == keys);
    CHECK(need_of(name).sel_pack_n == 0);
  }
  CHECK(need_of("packed").sel_pack_l == 64);
  CHECK(need_of("packed").sel_pack_n == 8);  // lengths 49-52 at t = 48-51, 64-67, 80-83, 96-99
  CHECK(need_of("masked").sel_pack_n == 0);
}

}  // namespace nsa::test
