#include "inject/ranges.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <vector>

namespace nsa::inject {
namespace {

struct OfThread {
  std::mutex mutex;  // its own thread's, but for open_ranges()
  long thread = syscall(SYS_gettid);
  struct Range {
    const void* domain;
    std::string name;
  };
  std::vector<Range> open;
};

struct Threads {
  std::mutex mutex;
  std::vector<std::weak_ptr<OfThread>> all;
};
// Never destroyed: threads end after the destructors of the library ran.
Threads& threads() {
  static auto* threads = new Threads;
  return *threads;
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
  std::shared_ptr<OfThread> thread = std::make_shared<OfThread>();
};

/// Null when the thread's own variables are gone: it is about to end.
OfThread* mine() {
  if (thread_is_over) return nullptr;
  thread_local const Mine kMine;
  return kMine.thread.get();
}

}  // namespace

void push_range(const void* domain, std::string_view name) {
  OfThread* const thread = mine();
  if (!thread) return;
  const std::lock_guard lock(thread->mutex);
  thread->open.push_back({domain, std::string(name)});
}

std::string pop_range(const void* domain) {
  OfThread* const thread = mine();
  if (!thread) return {};
  const std::lock_guard lock(thread->mutex);
  const auto last = std::find_if(thread->open.rbegin(), thread->open.rend(),
                                 [&](const auto& range) { return range.domain == domain; });
  if (last == thread->open.rend()) return {};
  std::string name = std::move(last->name);
  thread->open.erase(std::next(last).base());
  return name;
}

std::string innermost_range() {
  OfThread* const thread = mine();
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
