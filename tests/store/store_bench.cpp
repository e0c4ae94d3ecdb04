// Figures of the store: many processes on one new database, one row, opening, reading all rows.
//   build/cpu/bin/bench_store [processes [rows]]        (default 16 1000)
//   build/cpu/bin/bench_store results.sqlite            reading alone
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
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

long peak_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

/// Time of `read` and how far the peak of the process's memory rose.
template <class Read>
void read_back(const char* what, Read read) {
  const long before = peak_kib();
  const auto start = Clock::now();
  const std::clock_t cpu_start = std::clock();
  const std::size_t rows = read();
  const double cpu_ms = static_cast<double>(std::clock() - cpu_start) * 1e3 / CLOCKS_PER_SEC;
  std::printf("%s %zu rows: %.0f ms, %.0f ms of CPU, %.1f MiB more memory\n", what, rows,
              seconds_since(start) * 1e3, cpu_ms, static_cast<double>(peak_kib() - before) / 1024);
}

void read_all(const std::string& path) {
  const auto start = Clock::now();
  const Store store = Store::open_existing(path);
  std::printf("opening: %.2f ms\n", seconds_since(start) * 1e3);
  for (const bool samples : {false, true}) {
    read_back(samples ? "visiting with samples" : "visiting", [&] {
      std::size_t rows = 0;
      store.for_each_measurement({.with_samples = samples}, [&](const Measurement&) { ++rows; });
      return rows;
    });
  }
  read_back("materialising with samples",
            [&] { return store.measurements({.with_samples = true}).size(); });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strchr(argv[1], '.') != nullptr) {
    read_all(argv[1]);
    return 0;
  }
  const int processes = argc > 1 ? std::atoi(argv[1]) : 16;
  const int rows = argc > 2 ? std::atoi(argv[2]) : 1000;
  const test::TempFolder folder;
  const std::string path = folder.file("bench.sqlite");
  many_processes(path, processes, rows);
  one_process(path);
  read_all(path);
}
