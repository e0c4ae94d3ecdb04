// The pool: every index once, errors come back, nesting and several callers do not lock up.
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "cpu/blas.hpp"
#include "nsa/kernels/parallel.hpp"

namespace nsa::test {
namespace {

/// What this program prints when run again with that environment and the hidden case below.
std::string child_prints(const std::string& environment) {
  std::array<char, 4096> path{};
  const auto length = readlink("/proc/self/exe", path.data(), path.size() - 1);
  REQUIRE(length > 0);
  const std::string command =
      environment + " '" + std::string(path.data()) + "' '[.threads_child]' 2>&1";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  for (std::array<char, 256> line; std::fgets(line.data(), line.size(), pipe.get());) {
    text += line.data();
  }
  return text;
}

}  // namespace

TEST_CASE("parallel_for visits every index once, whatever the grain", "[kernels][cpu]") {
  for (const std::int64_t grain : {1, 3, 100, 5000}) {
    std::vector<std::atomic<int>> seen(1000);
    parallel_for(0, 1000, grain, [&](std::int64_t from, std::int64_t to) {
      CHECK(to - from <= grain);
      for (std::int64_t i = from; i < to; ++i) ++seen[static_cast<std::size_t>(i)];
    });
    std::int64_t wrong = 0;
    for (const auto& count : seen) wrong += count != 1;
    CHECK(wrong == 0);
  }
  parallel_for(5, 5, 1, [](std::int64_t, std::int64_t) { FAIL("an empty range has no piece"); });
  CHECK_THROWS(parallel_for(0, 1, 0, [](std::int64_t, std::int64_t) {}));
}

TEST_CASE("an exception of a piece comes out of parallel_for, and the pool works on",
          "[kernels][cpu]") {
  for (int round = 0; round < 20; ++round) {
    CHECK_THROWS_AS(parallel_for(0, 64, 1,
                                 [](std::int64_t from, std::int64_t) {
                                   if (from == 13) throw std::runtime_error("piece 13");
                                 }),
                    std::runtime_error);
    std::atomic<std::int64_t> sum{0};
    parallel_for(0, 64, 1, [&](std::int64_t from, std::int64_t) { sum += from; });
    CHECK(sum == 2016);
  }
}

TEST_CASE("nested and concurrent calls finish, each with a thread index of its own scratch",
          "[kernels][cpu]") {
  const auto work = [] {
    std::atomic<std::int64_t> total{0};
    std::vector<std::atomic<int>> busy(static_cast<std::size_t>(parallel_threads()));
    std::atomic<int> clashes{0};
    parallel_for(0, 40, 1, [&](std::int64_t, std::int64_t) {
      const auto mine = static_cast<std::size_t>(parallel_thread_index());
      if (busy[mine].exchange(1) != 0) ++clashes;
      parallel_for(0, 10, 1, [&](std::int64_t from, std::int64_t to) {
        if (static_cast<std::size_t>(parallel_thread_index()) != mine) ++clashes;
        total += to - from;
      });
      busy[mine] = 0;
    });
    return total == 400 && clashes == 0;
  };
  std::atomic<int> good{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) callers.emplace_back([&] { good += work(); });
  for (std::thread& caller : callers) caller.join();
  CHECK(good == 4);
  CHECK(parallel_thread_index() == 0);
}

TEST_CASE("child: prints the number of threads", "[.threads_child]") {
  try {
    std::printf("threads=%d\n", parallel_threads());
  } catch (const std::exception& error) {
    std::printf("error=%s\n", error.what());
  }
}

TEST_CASE("NSATUNE_THREADS sets the threads, and nonsense there is refused", "[kernels][cpu]") {
  CHECK(child_prints("NSATUNE_THREADS=3").find("threads=3\n") != std::string::npos);
  CHECK(child_prints("NSATUNE_THREADS=many").find("error=NSATUNE_THREADS: 'many'") !=
        std::string::npos);
  CHECK(child_prints("NSATUNE_THREADS=0").find("error=NSATUNE_THREADS") != std::string::npos);
  CHECK(child_prints("taskset -c 0 env -u NSATUNE_THREADS").find("threads=1\n") !=
        std::string::npos);
}

TEST_CASE("the split product equals the product on one thread", "[kernels][cpu]") {
  const bool ta = GENERATE(false, true), tb = GENERATE(false, true);
  const auto [m, n] = GENERATE(std::pair{150, 40}, std::pair{30, 200}, std::pair{1, 1});
  constexpr std::int64_t kDepth = 17;
  std::vector<double> a(static_cast<std::size_t>(m * kDepth)),
      b(static_cast<std::size_t>(n * kDepth));
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<double>(i % 13) - 6;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<double>(i % 7) - 3;
  std::vector<double> c(static_cast<std::size_t>(m * n), 1.0);
  parallel_gemm({a.data(), m, kDepth, ta ? m : kDepth, ta},
                {b.data(), kDepth, n, tb ? kDepth : n, tb}, {c.data(), m, n, n});
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < kDepth; ++k) {
        sum += a[static_cast<std::size_t>(ta ? k * m + i : i * kDepth + k)] *
               b[static_cast<std::size_t>(tb ? j * kDepth + k : k * n + j)];
      }
      wrong += c[static_cast<std::size_t>(i * n + j)] != sum;
    }
  }
  CHECK(wrong == 0);
}

}  // namespace nsa::test
