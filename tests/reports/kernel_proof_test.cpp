// What a program says ran, against the names of kernels that were seen.
#include "nsa/reports/kernel_proof.hpp"

#include "catch.hpp"
#include "nsa/schemas/json.hpp"
#include "text.hpp"

using namespace nsa;
using namespace nsa::reports;
using test::contains;

namespace {

constexpr const char* kScore =
    "void nsa::score::(anonymous namespace)::logits_kernel<__nv_bfloat16, 64>(nsa::score::Args)";
constexpr const char* kQuery =
    "void nsa::cuda::fused_query_sm90_kernel<64, 64, 14>(nsa::cuda::QueryArgs)";
constexpr const char* kBlock = "void nsa::cuda::fused_block_kernel<64>(nsa::cuda::BlockArgs)";
constexpr const char* kSdpa =
    "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3_64x128x64_4x1x1_kernel0_0";
constexpr const char* kNorm = "void nsa::cuda::(anonymous namespace)::rms_norm_kernel<float>(int)";

/// A layer that selects, then attends to the selected blocks; a norm before them.
SeenStep some_step(const std::string& attending = kQuery) {
  SeenStep step;
  step.engaged = {{{"score", "materialised"}, 1}, {{"attend_selected", "fused_query"}, 1}};
  step.windows = {{Stage::layer, "nsa", 100, 500},
                  {Stage::score, "materialised", 200, 300},
                  {Stage::attend_selected, "fused_query", 300, 400}};
  step.kernels = {{kNorm, 150}, {kScore, 250}, {attending, 350}};
  return step;
}

KernelProof prove(const SeenStep& step) {
  return prove_kernels(step.engaged, {&step, 1}, Backend::cuda);
}

/// Why the row of that stage does not hold; "" where it does.
std::string mismatch(const KernelProof& proof, const std::string& stages) {
  for (const RowProof& row : proof.rows)
    if (row.stages == stages) return row.mismatch;
  return "there is no such row";
}

}  // namespace

TEST_CASE("rows whose own kernels ran are proven, and what ran between them is told apart",
          "[reports]") {
  const KernelProof proof = prove(some_step());
  CHECK(proof.holds());
  REQUIRE(proof.rows.size() == 2);
  CHECK(proof.rows[0].kernels == std::map<std::string, std::int64_t>{{kQuery, 1}});
  CHECK(proof.others == std::map<std::string, std::int64_t>{{kNorm, 1}});
  validate_json(kernel_proof_json(proof), "kernel_proof", "proof");
}

TEST_CASE("another row's kernel under a row's name is a mismatch, with both names", "[reports]") {
  for (const char* other : {kBlock, kSdpa}) {
    const KernelProof proof = prove(some_step(other));
    CHECK_FALSE(proof.holds());
    CHECK(mismatch(proof, "score").empty());
    CHECK_FALSE(mismatch(proof, "attend_selected").empty());
    const Json document = kernel_proof_json(proof);
    validate_json(document, "kernel_proof", "proof");
    CHECK(contains(kernel_proof_text(document), "MISMATCH: attend_selected/fused_query"));
    CHECK(contains(kernel_proof_text(document), "1 of 2 rows"));
  }
}

TEST_CASE("a row that started nothing, or what no row claims, is a mismatch", "[reports]") {
  SeenStep step = some_step();
  step.kernels.pop_back();
  CHECK(contains(mismatch(prove(step), "attend_selected"), "started no kernel"));
  step = some_step();
  step.kernels.push_back({"void foreign_kernel()", 360});
  CHECK(contains(mismatch(prove(step), "attend_selected"), "ran void foreign_kernel()"));
  step = some_step();
  step.engaged.erase({"attend_selected", "fused_query"});
  step.engaged[{"attend_selected", "nobodys"}] = 1;
  step.windows.back().variant = "nobodys";
  CHECK(contains(mismatch(prove(step), "attend_selected"), "not a row of this program's table"));
}

TEST_CASE("what ran in the timed steps has to be in a traced one", "[reports]") {
  const SeenStep step = some_step();
  Engaged ran = step.engaged;
  ran[{"gate_combine", "gate_fused"}] = 3;
  const KernelProof proof = prove_kernels(ran, {&step, 1}, Backend::cuda);
  CHECK_FALSE(proof.holds());
  CHECK(contains(mismatch(proof, "gate_combine"), "not in the traced one"));
}

TEST_CASE("a row over several stages and the same row in two steps are each one row", "[reports]") {
  SeenStep span;
  const std::string stages = "attend_compressed+score";
  span.engaged = {{{stages, "fused"}, 1}};
  span.windows = {{Stage::attend_compressed, "fused", 0, 10}};
  span.kernels = {{"void nsa::cuda::compressed::attend_kernel<64>(int)", 5}};
  const SeenStep steps[] = {span, span, some_step()};
  const KernelProof proof = prove_kernels({}, steps, Backend::cuda);
  CHECK(proof.rows.size() == 3);
  CHECK(mismatch(proof, stages).empty());
  for (const RowProof& row : proof.rows) {
    if (row.stages == stages) CHECK(row.kernels.begin()->second == 2);
  }
}

TEST_CASE("a kernel belongs to the innermost row that launched it", "[reports]") {
  SeenStep step = some_step();
  step.engaged[{"attention", "batched"}] = 1;
  step.windows.insert(step.windows.begin() + 1, {Stage::attention, "batched", 180, 450});
  step.kernels.push_back({"void nsa::cuda::copy(int)", 420});  // of the runtime, between its stages
  const KernelProof proof = prove(step);
  CHECK(mismatch(proof, "attend_selected").empty());
  CHECK(mismatch(proof, "attention").empty());
  CHECK(proof.others.size() == 1);
}
