#include "cpu/flush.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace nsa::probes {
namespace {

constexpr std::int64_t kLineBytes = 64;

/// Touches every cache line: read, change, write, so that the line must be owned.
void stream(unsigned char* data, std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes; i += kLineBytes) {
    volatile unsigned char& line = data[i];
    line = static_cast<unsigned char>(line + 1);
  }
}

/// Cores that this process may run on.
std::vector<int> allowed_cores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &mask)) cores.push_back(core);
  return cores;
}

}  // namespace

std::int64_t flush_bytes_per_core(std::optional<std::int64_t> last_level_bytes,
                                  std::optional<std::int64_t> private_bytes, int cores) {
  const std::int64_t shared =
      last_level_bytes ? std::min(2 * *last_level_bytes, kFlushBoundBytes) : kFlushBoundBytes;
  const std::int64_t own =
      2 * std::min(private_bytes.value_or(std::int64_t{2} << 20), kFlushBoundBytes / 2);
  const std::int64_t bytes = std::max(own, shared / std::max(cores, 1));
  return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
}

CpuFlush::CpuFlush(std::int64_t bytes_per_core, int cores)
    : bytes_per_core_(bytes_per_core),
      cores_(cores),
      buffer_(std::make_unique<unsigned char[]>(static_cast<std::size_t>(bytes_per_core * cores))) {
}

void CpuFlush::run() {
  const std::vector<int> allowed = allowed_cores();
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(cores_));
  for (int i = 0; i < cores_; ++i) {
    threads.emplace_back([this, i, &allowed] {
      // Pinned, because a private cache is emptied only by its own core. Where that is refused, the
      // scheduler spreads the threads, which is nearly as good.
      if (!allowed.empty()) {
        cpu_set_t mask;
        CPU_ZERO(&mask);
        CPU_SET(allowed[static_cast<std::size_t>(i) % allowed.size()], &mask);
        pthread_setaffinity_np(pthread_self(), sizeof mask, &mask);
      }
      stream(buffer_.get() + i * bytes_per_core_, bytes_per_core_);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace nsa::probes
