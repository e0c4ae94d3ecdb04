#include "inject/ranges.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <memory>
#include <mutex>
#include <vector>

namespace nsa::inject {
namespace {

struct OfThread {
  std::mutex mutex;  // its own thread's, but for open_ranges()
  long thread = syscall(SYS_gettid);
  std::vector<std::string> open;
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

OfThread& mine() {
  thread_local const std::shared_ptr<OfThread> kMine = [] {
    auto made = std::make_shared<OfThread>();
    Threads& known = threads();
    const std::lock_guard lock(known.mutex);
    std::erase_if(known.all, [](const auto& thread) { return thread.expired(); });
    known.all.push_back(made);
    return made;
  }();
  return *kMine;
}

}  // namespace

void push_range(std::string_view name) {
  OfThread& thread = mine();
  const std::lock_guard lock(thread.mutex);
  thread.open.emplace_back(name);
}

std::string pop_range() {
  OfThread& thread = mine();
  const std::lock_guard lock(thread.mutex);
  if (thread.open.empty()) return {};
  std::string name = std::move(thread.open.back());
  thread.open.pop_back();
  return name;
}

std::string innermost_range() {
  OfThread& thread = mine();
  const std::lock_guard lock(thread.mutex);
  return thread.open.empty() ? std::string() : thread.open.back();
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
      text += (i == 0 ? " " : " > ") + thread->open[i];
    text += '\n';
  }
  return text;
}

}  // namespace nsa::inject
