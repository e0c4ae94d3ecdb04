// Vendors' kernels: what they support and how the gates say so, on any machine.
#include "nsa/kernels/vendor.hpp"
#include "catch.hpp"
#include "nsa/kernels/catalog.hpp"
#include "nsa/kernels/dense_by_cudnn.hpp"
#include "nsa/kernels/device_memory.hpp"
#include "nsa/kernels/oracle.hpp"
#include "nsa/schemas/error.hpp"
#include "routing_support.hpp"
#include "telemetry/fa2_gates.hpp"
#include "vendor/cudnn/sdpa.hpp"
#include "vendor/cudnn/window_keys.hpp"
#include "vendor/flashinfer/shape.hpp"
#include "vendor/math/shape.hpp"
#include "vendor/support.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

Problem lengths(std::vector<std::int64_t> seq, std::vector<std::int64_t> context) {
  Problem p;
  p.seq_lens = std::move(seq);
  p.context_lens = std::move(context);
  p.q_heads = 12;
  p.kv_heads = 2;
  p.head_dim_k = p.head_dim_v = 64;
  p.dtype = Dtype::bf16;
  p.phase = p.max_seq_len() == 1 && p.max_context() > 0 ? Phase::decode : Phase::prefill;
  return p;
}

Device h200() {
  Device device;
  device.id = "cuda:0";
  device.backend = Backend::cuda;
  device.compute_capability = 90;
  device.memory_bytes = std::int64_t{140} << 30;
  return device;
}

bool has(const Support& support, const char* words) {
  return !support.supported && support.reason().find(words) != std::string::npos;
}

const Variant& cuda_row(Stage stage, const char* name) {
  const Stage stages[] = {stage};
  const Variant* row = find_variant(stages, name, Backend::cuda);
  REQUIRE(row);
  return *row;
}

}  // namespace

TEST_CASE("cuDNN is refused what it has no plan for, each with its own reason",
          "[kernels][vendor]") {
  Problem p = lengths({2048, 2048}, {0, 0});
  CHECK(vendor::supports_sdpa(p, h200()).supported);
  CHECK(runs_on(cuda_row(Stage::attend_window, "sdpa"), h200()).reason() == vendor::sdpa_missing());
  p.head_dim_k = 20;
  CHECK(has(vendor::supports_sdpa(p, h200()), "multiples of 8"));
  p.head_dim_k = 256;
  CHECK(has(vendor::supports_sdpa(p, h200()), "128 or less"));
  p.head_dim_k = 192;
  p.head_dim_v = 128;
  Device ampere = h200();
  ampere.compute_capability = 80;
  CHECK(has(vendor::supports_sdpa(p, ampere), "9.0"));
  CHECK(vendor::supports_sdpa(p, h200()).supported);
  p.head_dim_k = p.head_dim_v = 64;
  p.geometry.window = 0;
  CHECK(has(vendor::supports_sdpa(p, h200()), "window of 0"));
}

TEST_CASE("dense attention by cuDNN is its rows in both directions, of any length",
          "[kernels][vendor]") {
  for (const bool deterministic : {true, false}) {
    Router::Inputs inputs;
    inputs.device = h200();
    inputs.api = dense_by_cudnn(deterministic);
    inputs.review = true;  // whatever this build and machine have
    const Router router(std::move(inputs));
    Problem p = lengths({4096, 4096}, {0, 0});
    p.geometry.window = p.max_kv_len();
    const Choice forward = router.choose(Stage::attend_window, p);
    CHECK(forward.source == Source::api);
    CHECK(forward.variant->name == "sdpa");
    p.direction = Direction::backward;
    const Choice backward = router.choose(Stage::attend_window, p);
    CHECK(backward.source == Source::api);
    CHECK(backward.variant->name == (deterministic ? "sdpa_ordered" : "sdpa"));
    CHECK(backward.variant->deterministic == deterministic);
    p.dtype = Dtype::fp32;  // the wish is not met, and the router says why
    CHECK(router.choose(Stage::attend_window, p).source != Source::api);
    CHECK(router.choose(Stage::attend_window, p).fallback_reason);
  }
}

TEST_CASE("cuDNN takes a batch only where one plan serves all of it", "[kernels][vendor]") {
  CHECK(has(vendor::supports_sdpa(lengths({100, 101}, {0, 0}), h200()), "lengths differ"));
  // After the window the context does not matter; in front of it, it does.
  CHECK_FALSE(has(vendor::supports_sdpa(lengths({64, 64}, {600, 9000}), h200()), "lengths differ"));
  CHECK(has(vendor::supports_sdpa(lengths({64, 64}, {600, 30}), h200()), "lengths differ"));
  CHECK(has(vendor::supports_sdpa(lengths({1}, {100}), h200()), "each step of a decoder"));
  CHECK_FALSE(has(vendor::supports_sdpa(lengths({1, 1}, {511, 4000}), h200()), "plan per shape"));
}

TEST_CASE("a kernel that is told of the keys in the window has one shape behind it",
          "[kernels][vendor]") {
  const vendor::WindowKeys near = vendor::window_keys({0, 10, 5, 10, 0, 0}, 512);
  CHECK(near.count == 10);
  CHECK(near.first_row == 5);
  CHECK_FALSE(near.bounded);
  const vendor::WindowKeys far = vendor::window_keys({0, 4, 100, 2000, 0, 0}, 512);
  CHECK(far.count == 4 + 511);
  CHECK(far.first_row == 100 + 2000 - 515);
  CHECK(far.bounded);
  const vendor::WindowKeys one = vendor::window_keys({0, 1, 0, 2000, 0, 0}, 512);
  CHECK(one.count == 512);
  CHECK_FALSE(one.bounded);  // a single query sees all of them: no mask is needed
}

TEST_CASE("one sequence has the same strides behind the window, whatever its context",
          "[kernels][vendor]") {
  const auto steps = [](const std::vector<Sequence>& run) {
    return vendor::steps_of(run, vendor::window_keys(run[0], 512));
  };
  const vendor::RunSteps one = steps({{0, 1, 0, 2000, 0, 0}});
  CHECK(one.kv == 512);
  CHECK(one.q == 1);
  CHECK(steps({{0, 1, 0, 2001, 0, 0}}).kv == one.kv);  // the next token of a decoder
  const vendor::RunSteps two = steps({{0, 3, 10, 2000, 0, 0}, {3, 3, 4106, 2000, 0, 0}});
  CHECK(two.q == 3);
  CHECK(two.kv == 4096);
}

TEST_CASE("FlashInfer is refused dims that it is not compiled for and offsets over 32 bits",
          "[kernels][vendor]") {
  Problem p = lengths({4096, 100}, {0, 5});
  CHECK(vendor::supports_fa2(p, h200()).supported);
  p.head_dim_v = 128;
  CHECK(has(vendor::supports_fa2(p, h200()), "64/64"));
  p.head_dim_k = 192;
  CHECK(vendor::supports_fa2(p, h200()).supported);
  p.seq_lens = {std::int64_t{1} << 20, 1};
  CHECK(has(vendor::supports_fa2(p, h200()), "32 bits"));
}

TEST_CASE("sdpa_math is refused where its logits do not fit the device", "[kernels][vendor]") {
  Problem p = lengths({131072}, {0});
  p.geometry.window = 131072;
  const std::int64_t bytes = vendor::logits_bytes(p, vendor::Band::window);
  CHECK(bytes == 4 * 6 * vendor::kMathQueries * 131072);
  Device device = h200();
  device.memory_bytes = 2 * bytes - 2;
  const Support refused = vendor::supports_math<vendor::Band::window>(p, device);
  CHECK_FALSE(refused.supported);
  p.geometry.window = 512;  // keys left of a tile's window take no room
  CHECK(vendor::logits_bytes(p, vendor::Band::window) < bytes / 50);
}

TEST_CASE("a row that is not built says what to do, one that is built says nothing",
          "[kernels][vendor]") {
  for (const auto& [stage, name, words] :
       {std::tuple{Stage::attend_window, "sdpa", "CUDNN_FRONTEND_INCLUDE_DIR"},
        std::tuple{Stage::attend_window, "fa2_varlen", "FLASHINFER_INCLUDE_DIR"},
        std::tuple{Stage::attend_compressed, "fa2_dense", "FLASHINFER_INCLUDE_DIR"},
        std::tuple{Stage::attention, "dense_sdpa", "CUDNN_FRONTEND_INCLUDE_DIR"},
        std::tuple{Stage::attention, "dense_fa2", "FLASHINFER_INCLUDE_DIR"}}) {
    INFO(name);
    const Variant& built = cuda_row(stage, name);
    CHECK(why_not_built(built).empty() == (built.launch != nullptr));
    Variant absent = built;
    absent.launch = nullptr;
    const std::string reason = why_not_built(absent);
    CHECK((reason.find(words) != std::string::npos) == device::built());
    CHECK((reason.find("NSA_CUDA=ON") != std::string::npos) == !device::built());
  }
}

TEST_CASE("vendors' kernels are listed, usable or with the reason", "[kernels][vendor]") {
  const auto all = vendor_capabilities();
  REQUIRE(all.size() == 2);
  for (const Capability& kernels : all) {
    INFO(kernels.library);
    CHECK(kernels.usable == kernels.reason.empty());
    CHECK(kernels.usable == !kernels.version.empty());
  }
}

TEST_CASE("a row of TF32 may be off as far as TF32 rounds, and no other", "[kernels][vendor]") {
  const auto tolerance = [](const char* name, Dtype dtype) {
    return row_tolerance(cuda_row(Stage::out_proj, name), dtype);
  };
  CHECK(tolerance("gemm", Dtype::fp32) == row_tolerance(Stage::out_proj, Dtype::fp32));
  CHECK(tolerance("gemm_tf32", Dtype::fp32) == 2e-3);
  CHECK(tolerance("gemm_tf32", Dtype::bf16) == row_tolerance(Stage::out_proj, Dtype::bf16));
  CHECK(cuda_row(Stage::out_proj, "gemm_tf32").dtypes == dtype_bit(Dtype::fp32));
}

TEST_CASE("a product can be tuned over cuBLASLt's list of algorithms", "[kernels][vendor]") {
  CHECK(ids_of(cuda_row(Stage::out_proj, "gemm")).size() == 8);
  CHECK(to_string(ids_of(cuda_row(Stage::project_rope, "gemm")).back()).find("gemm.algo=7") !=
        std::string::npos);
}

TEST_CASE("NSA_DEBUG_FA2 names each gate and what runs, once per problem", "[kernels][vendor]") {
  const Router router(inputs({"NSA_DEBUG_FA2=1", "NSA_USE_FA2=0"}));
  const Problem p = prefill(777);
  const std::string text = fa2_gates(router, Stage::attend_window, p);
  CHECK(text.find("attend_window S=777") != std::string::npos);
  CHECK(text.find(": fa2_dense yes\n") != std::string::npos);
  CHECK(text.find(": fa2_varlen yes\n") != std::string::npos);
  CHECK(text.find(": runs attend_window/sdpa_math (environment: NSA_USE_FA2=0)") !=
        std::string::npos);
  CHECK(fa2_gates(router, Stage::attend_selected, p).empty());
  CHECK(print_fa2_gates_once(router, Stage::attend_window, p));
  CHECK_FALSE(print_fa2_gates_once(router, Stage::attend_window, p));
  CHECK(print_fa2_gates_once(router, Stage::attend_window, prefill(778)));
  const Router silent(inputs({}));
  CHECK_FALSE(print_fa2_gates_once(silent, Stage::attend_window, prefill(779)));
}

TEST_CASE("the users' names choose between FlashInfer's two forms on a GPU", "[kernels][vendor]") {
  const bool built = cuda_row(Stage::attend_window, "fa2_dense").launch != nullptr;
  const auto chosen = [](std::vector<std::string> names, Stage stage, const Problem& p) {
    Router::Inputs in;
    in.device = h200();
    in.environment = inputs(std::move(names)).environment;
    const Choice choice = Router(std::move(in)).choose(stage, p);
    return choice.variant ? std::string(choice.variant->name) : std::string();
  };
  const Problem p = lengths({4096}, {0});
  for (const Stage stage : {Stage::attend_window, Stage::attend_compressed}) {
    const std::string usual = chosen({}, stage, p);
    CHECK(usual.find("fa2") == std::string::npos);
    for (const auto& [force, form] : {std::pair{"NSA_FA2_FORCE_DENSE=1", "fa2_dense"},
                                      std::pair{"NSA_FA2_FORCE_VARLEN=1", "fa2_varlen"}}) {
      CHECK(chosen({"NSA_USE_FA2=1", force}, stage, p) == (built ? form : usual));
    }
    CHECK(chosen({"NSA_USE_FA2=0", "NSA_FA2_FORCE_DENSE=1"}, stage, p) == usual);
  }
}
