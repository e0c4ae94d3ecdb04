// What an oracle keeps of the rows that it computed.
#include <atomic>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "nsa/kernels/inputs.hpp"
#include "nsa/kernels/oracle.hpp"
#include "reference/kept_rows.hpp"

using namespace nsa;
using nsa::reference::KeptRows;

namespace {

struct Number {
  int value = 0;
  std::size_t size = 0;
  std::size_t bytes() const noexcept { return size; }
};

}  // namespace

TEST_CASE("a row is made once and each key has a value of its own", "[oracle]") {
  KeptRows<Number> kept;
  int made = 0;
  const auto get = [&](std::int64_t key) {
    return kept.get(key, [&] {
      ++made;
      return Number{static_cast<int>(10 * key), 8};
    });
  };
  CHECK(get(1)->value == 10);
  CHECK(get(2)->value == 20);
  CHECK(get(1)->value == 10);
  CHECK(made == 2);
}

TEST_CASE("rows that find no room are made again, and right", "[oracle]") {
  constexpr std::size_t kHalf = std::size_t{40} << 20;
  KeptRows<Number> kept;
  int made = 0;
  const auto get = [&](std::int64_t key) {
    return kept.get(key, [&] {
      ++made;
      return Number{static_cast<int>(key), kHalf};
    });
  };
  get(1);
  CHECK(get(2)->value == 2);
  CHECK(get(2)->value == 2);
  CHECK(get(1)->value == 1);
  CHECK(made == 3);
}

TEST_CASE("threads that ask for the same rows get the same values", "[oracle]") {
  KeptRows<Number> kept;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) {
        const int key = i % 97;
        wrong += kept.get(key, [&] { return Number{key, 8}; })->value != key;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("the oracle selects the same blocks once it has no room to keep them", "[oracle]") {
  Problem problem;  // 8 KiB of scores a row: the first 8,000 fill the room
  problem.seq_lens = {65536};
  problem.q_heads = problem.kv_heads = 1;
  problem.head_dim_k = problem.head_dim_v = 2;
  const auto inputs = make_inputs(Stage::score, problem, 7);
  const TensorView views[] = {inputs[0].view(), inputs[1].view()};
  const Oracle used(Stage::score, problem, views);
  for (std::int64_t row = 0; row < 8200; ++row) used.row(0, row);
  const Oracle fresh(Stage::score, problem, views);
  for (const std::int64_t row : {9000, 33333, 65535}) CHECK(used.row(0, row) == fresh.row(0, row));
}
