// How far a selection of reduced precision picks the blocks of the exact one.
#include "pool/checks/agreement.hpp"

#include "catch.hpp"
#include "harness.hpp"
#include "nsa/kernels/inputs.hpp"
#include "nsa/kernels/oracle.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

/// The blocks of the reference in these rows, as a score row would write them.
std::vector<std::int32_t> exact_blocks(const SpanOracle& oracle,
                                       const std::vector<std::int64_t>& rows) {
  std::vector<std::int32_t> blocks;
  for (const std::int64_t row : rows) {
    for (const double block : oracle.row(0, row))
      blocks.push_back(static_cast<std::int32_t>(block));
  }
  return blocks;
}

}  // namespace

TEST_CASE("blocks are counted head by head, and unused places do not count", "[tuner]") {
  Problem problem = small_problem(200);
  problem.dtype = Dtype::bf16;
  const auto inputs = make_inputs(Stage::score, problem, 3);
  const std::vector<TensorView> views{inputs[0].view(), inputs[1].view()};
  const Stage stages[] = {Stage::score};
  const SpanOracle oracle(stages, problem, views);
  const std::vector<std::int64_t> rows{0, 150, 199};  // the first sees one block, the others more
  std::vector<std::int32_t> blocks = exact_blocks(oracle, rows);
  HostTensor tensor{"blocks", {Dtype::int32, 3, {3, 2, problem.geometry.sel_count, 0}}, {}};
  const auto agreement = [&] {
    const auto* bytes = reinterpret_cast<const std::byte*>(blocks.data());
    tensor.bytes.assign(bytes, bytes + blocks.size() * sizeof blocks[0]);
    return tuner::agreement_of(oracle, tensor.view(), rows, 60);
  };
  const Agreement all = agreement();
  CHECK(all.same == all.blocks);
  CHECK(all.blocks == 2 + 2 * 2 * problem.geometry.sel_count);
  blocks.back() = 1'000'000;  // a block that nobody selects
  CHECK(agreement() == Agreement{all.blocks, all.same - 1});
}

TEST_CASE("a sweep keeps the agreement of rows of reduced precision for each kind of problem",
          "[tuner]") {
  SweepSpec spec = small_spec({"200", "216", "256"}, 60);  // one check stands for the first two
  spec.families[0].base.dtype = Dtype::bf16;
  spec.families[0].stages = {"score"};
  spec.policy.give_up_ratio = 1e9;
  const tuner::SweepInput input = sweep_input(spec, {{{NSA_OUR_WORKER, "cpu"}, {}, true}});
  MemorySink sink;
  Notes notes;
  CHECK(run_sweep(input, sink, notes).complete);
  REQUIRE(sink.agreements.size() == 2);
  for (const AgreementRow& row : sink.agreements) {
    CHECK(row.variant.name == "p_cmp_bf16");
    CHECK(row.agreement.blocks > 0);
    CHECK(row.agreement.share() > 0.8);
    CHECK(row.source_hash == sink.of("p_cmp_bf16").front().source_hash);
  }
  CHECK(sink.agreements[0].problem.max_seq_len() == 200);
  CHECK(sink.agreements[1].problem.max_seq_len() == 256);
}
