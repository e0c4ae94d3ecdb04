// choose() allocates nothing: operator new of this program counts.
#include <array>
#include <atomic>
#include <cstdlib>
#include <new>

#include "catch.hpp"
#include "routing_support.hpp"

namespace {
std::atomic<long> allocations{0};
}

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* data = std::malloc(bytes ? bytes : 1)) return data;
  throw std::bad_alloc();
}
// Buffers of sorts; without it the sanitizer's own would be freed by ours.
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes ? bytes : 1);
}
[[gnu::noinline]] void operator delete(void* data) noexcept { std::free(data); }
[[gnu::noinline]] void operator delete(void* data, std::size_t) noexcept { std::free(data); }

using namespace nsa;
using namespace nsa::test;

namespace {

/// Allocations of one choose() for every stage, with and without a composite around it, and of a
/// segmentation.
long counted(const Router& router, const Problem& p) {
  const long before = allocations;
  const Choice attention = router.choose(Stage::attention, p);
  for (std::size_t i = 0; i < kStageCount; ++i) {
    (void)router.choose(static_cast<Stage>(i), p);
    (void)router.choose(static_cast<Stage>(i), p, &attention, Form::stage_by_stage);
  }
  (void)router.segmentation(kBranches, p, &attention);
  return allocations - before;
}

/// All lengths and shapes of which some row says no.
std::vector<Problem> problems() {
  std::vector<Problem> all{prefill(1),      prefill(777), prefill(8192),
                           prefill(300, 5), decode(64),   decode(5000)};
  Problem odd = prefill(512);
  odd.head_dim_k = 2000;  // no row has room for it
  all.push_back(odd);
  Problem wide = prefill(64);
  wide.q_heads = 96;
  wide.kv_heads = 2;
  all.push_back(wide);
  for (Problem& p : all) p.model = {768, 12, 256};
  return all;
}

}  // namespace

TEST_CASE("choose() allocates nothing, the first time included", "[kernels][routing]") {
  Router::Inputs in = inputs({"NSA_USE_SEL_VARLEN=1", "NSA_SEL_VARLEN_MIN_L=300", "NSA_USE_FA2=1",
                              "NSA_FA2_MIN_LEN_WIN=128", "NSA_SEL_RANGES_V2_MIN_S=512"});
  in.table = always(in.device, "packed");
  in.shipped = always(in.device, "gather", decode(4096));
  const Router router(std::move(in));
  for (const std::int64_t length : {1, 127, 128, 300, 4096, 65536}) {
    for (const std::int64_t batch : {1, 3, 40}) {
      const Problem p = prefill(length, batch);
      CHECK(counted(router, p) == 0);
    }
  }
  // varlen_v2 says no to a decode step, in words that are too long for a small string.
  const Problem step = decode(64);
  CHECK(counted(router, step) == 0);
  Problem other = prefill(512);  // nearest shape
  other.q_heads = 64;
  CHECK(counted(router, other) == 0);
}

TEST_CASE("with the real table choose() allocates nothing on any path, on a CPU and on a GPU",
          "[kernels][routing]") {
  Device gpu;
  gpu.id = "cuda:0";
  gpu.backend = Backend::cuda;
  gpu.name = "some GPU";
  gpu.compute_capability = 90;
  gpu.memory_bytes = std::int64_t{1} << 30;  // so little that logits do not fit
  for (const Device& device : {cpu(), gpu}) {
    for (const std::vector<std::string>& variables :
         {std::vector<std::string>{}, {"NSA_USE_SEL_VARLEN=1", "NSA_P_CMP_MIXED=1"}}) {
      Router::Inputs in;
      in.device = device;
      in.environment = environment(variables);
      const Router router(std::move(in));
      for (const Dtype dtype : {Dtype::fp64, Dtype::fp32, Dtype::bf16, Dtype::fp16}) {
        for (Problem p : problems()) {
          p.dtype = dtype;
          INFO(device.id << " " << to_string(dtype) << " " << p.max_kv_len());
          const long made = counted(router, p);
          CHECK(made == 0);
          p.direction = Direction::backward;
          const long refused = counted(router, p);
          CHECK(refused == 0);
        }
      }
    }
  }
}

TEST_CASE("on a CPU every stage has a row for every problem", "[kernels][routing]") {
  Router::Inputs in = inputs();
  in.rows = catalog();
  const Router router(std::move(in));
  for (const Problem& p : problems()) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(Stage::layer); ++i) {
      INFO(to_string(static_cast<Stage>(i)) << " " << p.max_kv_len());
      CHECK(router.choose(static_cast<Stage>(i), p).variant != nullptr);
    }
  }
}

TEST_CASE("the count sees an allocation where there is one", "[kernels][routing]") {
  const long before = allocations;
  const Support no = several_tokens(decode(64), cpu());
  const long asked = allocations;
  const std::string words = no.reason();
  const long said = allocations;
  CHECK(asked - before >= 0);  // decode() itself makes vectors
  CHECK(said > asked);
  CHECK(words == "prefill only, whatever you ask of it");
}
