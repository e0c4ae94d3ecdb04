#include "nsa/kernels/parallel.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "nsa/schemas/error.hpp"

namespace nsa {
namespace {

using Body = std::function<void(std::int64_t, std::int64_t)>;

constexpr int kMaxThreads = 1024;

thread_local int t_index = 0;
thread_local bool t_inside = false;

int allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

int wanted_threads() {
  const char* text = std::getenv("NSATUNE_THREADS");
  if (text == nullptr || *text == '\0') return allowed_cpus();
  const std::string_view view(text);
  int threads = 0;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), threads);
  if (error != std::errc() || end != view.data() + view.size() || threads < 1 ||
      threads > kMaxThreads) {
    throw InputError("NSATUNE_THREADS: '" + std::string(view) + "' is not a number from 1 to " +
                     std::to_string(kMaxThreads) + "; set one or unset it");
  }
  return threads;
}

/// One parallel_for: pieces are handed out by a counter.
struct Job {
  std::int64_t begin, end, grain;
  const Body* body;
  std::atomic<std::int64_t> next{0};
  std::mutex mutex{};
  std::exception_ptr error{};

  void work(int index) noexcept {
    const int outer_index = std::exchange(t_index, index);
    const bool outer_inside = std::exchange(t_inside, true);
    const std::int64_t pieces = (end - begin + grain - 1) / grain;
    for (std::int64_t i = next.fetch_add(1); i < pieces; i = next.fetch_add(1)) {
      const std::int64_t from = begin + i * grain;
      try {
        (*body)(from, std::min(end, from + grain));
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
        next.store(pieces);
      }
    }
    t_index = outer_index;
    t_inside = outer_inside;
  }
};

/// Threads that sleep until a job comes. One job at a time: run() is called under busy_.
class Pool {
 public:
  explicit Pool(int threads) {
    for (int i = 1; i < threads; ++i) threads_.emplace_back([this, i] { serve(i); });
  }
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  std::mutex& busy() noexcept { return busy_; }

  void run(Job& job) {
    {
      const std::lock_guard lock(mutex_);
      job_ = &job;
      ++generation_;
      open_ = static_cast<int>(threads_.size());
    }
    wake_.notify_all();
    job.work(0);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return open_ == 0; });
    job_ = nullptr;
  }

 private:
  void serve(int index) {
    std::int64_t seen = 0;
    for (;;) {
      Job* job = nullptr;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return stop_ || generation_ != seen; });
        if (stop_) return;
        seen = generation_;
        job = job_;
      }
      job->work(index);
      const std::lock_guard lock(mutex_);
      if (--open_ == 0) done_.notify_one();
    }
  }

  std::mutex busy_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::vector<std::thread> threads_;
  Job* job_ = nullptr;
  std::int64_t generation_ = 0;
  int open_ = 0;
  bool stop_ = false;
};

Pool& pool() {
  static Pool instance(parallel_threads());
  return instance;
}

void run_inline(Job& job) { job.work(t_index); }

/// False where the pool works for another caller.
bool run_on_pool(Job& job) {
  const std::unique_lock owner(pool().busy(), std::try_to_lock);
  if (owner.owns_lock()) pool().run(job);
  return owner.owns_lock();
}

}  // namespace

int parallel_threads() {
  static const int threads = wanted_threads();
  return threads;
}

int parallel_thread_index() noexcept { return t_index; }

void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain, const Body& body) {
  expects(grain > 0, "a grain of 1 or more");
  if (begin >= end) return;
  Job job{.begin = begin, .end = end, .grain = grain, .body = &body};
  const bool in_pieces = !t_inside && end - begin > grain && parallel_threads() > 1;
  if (!in_pieces || !run_on_pool(job)) run_inline(job);
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace nsa
