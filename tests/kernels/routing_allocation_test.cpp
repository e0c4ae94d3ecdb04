// choose() allocates nothing: operator new of this program counts.
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
[[gnu::noinline]] void operator delete(void* data) noexcept { std::free(data); }
[[gnu::noinline]] void operator delete(void* data, std::size_t) noexcept { std::free(data); }

using namespace nsa;
using namespace nsa::test;

namespace {

/// Allocations of one choose() for every stage.
long counted(const Router& router, const Problem& p) {
  const long before = allocations;
  for (std::size_t i = 0; i < kStageCount; ++i) (void)router.choose(static_cast<Stage>(i), p);
  return allocations - before;
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
  Problem other = prefill(512);  // nearest shape
  other.q_heads = 64;
  CHECK(counted(router, other) == 0);
}

TEST_CASE("with the real table of variants choose() allocates nothing either",
          "[kernels][routing]") {
  Router::Inputs in = inputs();
  in.rows = catalog();
  const Router router(std::move(in));
  for (const Dtype dtype : {Dtype::fp64, Dtype::fp32, Dtype::bf16, Dtype::fp16}) {
    for (Problem p : {prefill(1), prefill(777), prefill(8192), prefill(300, 5), decode(5000)}) {
      p.dtype = dtype;
      p.model = {768, 12, 256};
      for (const Stage stage : {Stage::project_rope, Stage::compress, Stage::score, Stage::ranges,
                                Stage::attend_compressed, Stage::attend_selected,
                                Stage::attend_window, Stage::gate_combine, Stage::out_proj}) {
        const long before = allocations;
        const Choice choice = router.choose(stage, p);
        const long after = allocations;
        INFO(to_string(stage) << " " << to_string(dtype) << " " << p.max_kv_len());
        CHECK(choice.variant != nullptr);
        CHECK(after - before == 0);
      }
    }
  }
}

TEST_CASE("the count sees an allocation where there is one", "[kernels][routing]") {
  const Router router(inputs({"NSA_USE_SEL_VARLEN=1"}));
  // varlen_v2 says no to a decode step, in words that are too long for a small string.
  CHECK(counted(router, decode(64)) > 0);
}
