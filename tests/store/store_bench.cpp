// Figures of the store: many processes on one new database, one row, a query, opening.
//   build/cpu/bin/bench_store [processes [rows]]        (default 16 1000)
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "support.hpp"

using namespace nsa;
using nsa::store::Store;

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

int write_rows(const std::string& path, int rows) {
  Store store = Store::open(path);
  store::RunRequest request = test::some_request();
  request.always_new = true;
  const auto run = store.open_run(request);
  for (int i = 0; i < rows; ++i) {
    if (!store.add(test::some_measurement(run.run().id, i))) return 1;
  }
  return 0;
}

void many_processes(const std::string& path, int processes, int rows) {
  const auto start = Clock::now();
  std::vector<pid_t> children;
  for (int p = 0; p < processes; ++p) {
    children.push_back(test::fork_child([&] { return write_rows(path, rows); }));
  }
  int failed = 0;
  for (const pid_t child : children) failed += test::wait_for(child) != 0;
  const double seconds = seconds_since(start);
  const auto stored = Store::open(path).info().measurements;
  std::printf(
      "%d processes x %d rows, one new database: %lld rows, %d failed, %.2f s, %.0f rows/s\n",
      processes, rows, static_cast<long long>(stored), failed, seconds,
      static_cast<double>(stored) / seconds);
}

void one_process(const std::string& path) {
  Store store = Store::open(path);
  store::RunRequest request = test::some_request();
  request.always_new = true;
  const auto run = store.open_run(request);
  std::vector<double> microseconds;
  for (int i = 0; i < 2000; ++i) {
    const Measurement m = test::some_measurement(run.run().id, i);
    const auto start = Clock::now();
    store.add(m);
    microseconds.push_back(seconds_since(start) * 1e6);
  }
  std::sort(microseconds.begin(), microseconds.end());
  std::printf("one row: median %.0f us, 99th percentile %.0f us\n", microseconds[1000],
              microseconds[1980]);
}

void read_back(const std::string& path) {
  auto start = Clock::now();
  const Store store = Store::open_existing(path);
  const double opening_ms = seconds_since(start) * 1e3;
  start = Clock::now();
  store::Query query;
  query.with_samples = true;
  const std::size_t rows = store.measurements(query).size();
  std::printf("opening: %.2f ms; reading %zu rows with samples: %.0f ms\n", opening_ms, rows,
              seconds_since(start) * 1e3);
}

}  // namespace

int main(int argc, char** argv) {
  const int processes = argc > 1 ? std::atoi(argv[1]) : 16;
  const int rows = argc > 2 ? std::atoi(argv[2]) : 1000;
  const test::TempFolder folder;
  const std::string path = folder.file("bench.sqlite");
  many_processes(path, processes, rows);
  one_process(path);
  read_back(path);
}
