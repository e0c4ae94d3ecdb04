// One Router, many threads: every answer is the one of a single thread.
#include <atomic>
#include <thread>

#include "catch.hpp"
#include "routing_support.hpp"

using namespace nsa;
using namespace nsa::test;

TEST_CASE("threads that choose at once get the answers of one thread", "[kernels][routing]") {
  Router::Inputs in = inputs();
  in.table =
      table(in.device, prefill(64),
            {decision("attend_selected", {range(0, 512, id("attend_selected", "packed")),
                                          range(512, {}, id("attend_selected", "gather"))})});
  const Router tuned(std::move(in)), plain(inputs());
  std::vector<Problem> problems;
  for (std::int64_t heads = 1; heads <= 64; ++heads) {
    problems.push_back(prefill(heads * 16));
    problems.back().q_heads = 2 * heads;  // more classes than a thread remembers
  }
  const auto answer = [&](const Router& router, const Problem& p) {
    return router.choose(Stage::attend_selected, p).variant->name;
  };
  std::atomic<int> wrong{0};
  const auto work = [&] {
    for (int round = 0; round < 200; ++round) {
      for (const Problem& p : problems) {
        const std::string_view expected = p.max_seq_len() < 512 ? "packed" : "gather";
        // Two routers in turn: what a thread remembers of one must not answer for the other.
        if (answer(tuned, p) != expected || answer(plain, p) != "fused_query") ++wrong;
      }
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("a router that takes the place of another one is not answered for by it",
          "[kernels][routing]") {
  const Problem p = prefill(64);
  for (const char* variant : {"packed", "gather", "varlen_v1"}) {
    Router::Inputs in = inputs();
    in.table = always(in.device, variant);
    const Router router(std::move(in));
    CHECK(chosen(router, Stage::attend_selected, p) == variant);
  }
}
