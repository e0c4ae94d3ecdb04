#include "inject/ranges.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <vector>

namespace nsa::inject {

struct OpenRanges {
  std::mutex mutex;  // its own thread's, but for open_ranges()
  long thread = syscall(SYS_gettid);
  struct Range {
    const void* domain;
    std::string name;
  };
  std::vector<Range> open;
};

namespace {

struct Threads {
  std::mutex mutex;
  std::vector<std::weak_ptr<OpenRanges>> all;
  std::vector<ThreadRanges> held;  // during a fork
};
void hold_all();
void release_all();

// Never destroyed: threads end after the destructors of the library ran. A child that is forked
// while another thread is in here would wait for that thread for ever.
Threads& threads() {
  static auto* threads = [] {
    auto* const made = new Threads;
    pthread_atfork(hold_all, release_all, release_all);
    return made;
  }();
  return *threads;
}

void hold_all() {
  Threads& known = threads();
  known.mutex.lock();
  for (const auto& weak : known.all)
    if (auto thread = weak.lock()) known.held.push_back(std::move(thread));
  for (const ThreadRanges& thread : known.held) thread->mutex.lock();
}

void release_all() {
  Threads& known = threads();
  for (const ThreadRanges& thread : known.held) thread->mutex.unlock();
  known.held.clear();
  known.mutex.unlock();
}

thread_local bool thread_is_over = false;  // still there when other destructors of the thread run

struct Mine {
  Mine() {
    Threads& known = threads();
    const std::lock_guard lock(known.mutex);
    std::erase_if(known.all, [](const auto& other) { return other.expired(); });
    known.all.push_back(thread);
  }
  ~Mine() { thread_is_over = true; }
  ThreadRanges thread = std::make_shared<OpenRanges>();
};

}  // namespace

ThreadRanges ranges_of_this_thread() {
  if (thread_is_over) return nullptr;
  thread_local const Mine kMine;
  return kMine.thread;
}

bool push_range(const ThreadRanges& of, const void* domain, std::string_view name) {
  if (!of) return false;
  const std::lock_guard lock(of->mutex);
  of->open.push_back({domain, std::string(name)});
  return true;
}

std::string pop_range(const ThreadRanges& of, const void* domain) {
  if (!of) return {};
  const std::lock_guard lock(of->mutex);
  const auto last = std::find_if(of->open.rbegin(), of->open.rend(),
                                 [&](const auto& range) { return range.domain == domain; });
  if (last == of->open.rend()) return {};
  std::string name = std::move(last->name);
  of->open.erase(std::next(last).base());
  return name;
}

void push_range(const void* domain, std::string_view name) {
  push_range(ranges_of_this_thread(), domain, name);
}

std::string pop_range(const void* domain) { return pop_range(ranges_of_this_thread(), domain); }

bool is_open(const std::function<bool(std::string_view)>& fits) {
  const ThreadRanges thread = ranges_of_this_thread();
  if (!thread) return false;
  const std::lock_guard lock(thread->mutex);
  return std::ranges::any_of(thread->open, fits, &OpenRanges::Range::name);
}

std::string innermost_range() {
  const ThreadRanges thread = ranges_of_this_thread();
  if (!thread) return {};
  const std::lock_guard lock(thread->mutex);
  return thread->open.empty() ? std::string() : thread->open.back().name;
}

std::string open_ranges() {
  Threads& known = threads();
  const std::lock_guard lock(known.mutex);
  std::string text;
  for (const auto& weak : known.all) {
    const auto thread = weak.lock();
    if (!thread) continue;
    const std::lock_guard own(thread->mutex);
    if (thread->open.empty()) continue;
    text += "thread " + std::to_string(thread->thread) + ":";
    for (std::size_t i = 0; i < thread->open.size(); ++i)
      text += (i == 0 ? " " : " > ") + thread->open[i].name;
    text += '\n';
  }
  return text;
}

}  // namespace nsa::inject
