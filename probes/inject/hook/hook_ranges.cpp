#include "inject/hook/hook_ranges.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "inject/hook/recorder.hpp"

namespace nsa::inject {
namespace {

/// The domain of these ranges among those that are open on a thread.
const char kDomain = 0;

std::uint64_t next_serial() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

HookRanges::HookRanges() : serial_(next_serial()) {}

/// A child that is forked while another thread is in here would wait for that thread for ever.
HookRanges& HookRanges::get() {
  static auto* ranges = [] {
    auto* const made = new HookRanges;
    ranges_of_this_thread();  // its handlers first: they are called after ours, as its locks are
    const auto hold = [] { get().mutex_.lock(); };
    const auto release = [] { get().mutex_.unlock(); };
    pthread_atfork(hold, release, release);
    return made;
  }();
  return *ranges;
}

HookRanges::Name HookRanges::name(std::string_view text) {
  if (text.empty()) return 0;
  const std::lock_guard lock(mutex_);
  const auto [at, added] = numbers_.try_emplace(std::string(text), names_.size());
  if (!added) return at->second;
  names_.emplace_back(text);
  texts_.push_back(0);
  return at->second;
}

HookRanges::Module HookRanges::add_module(const void* object, Name forward, Name backward,
                                          Module parent) {
  const std::lock_guard lock(mutex_);
  const auto known = [&](std::uint32_t number, std::size_t size) { return number < size; };
  if (!known(forward, names_.size()) || !known(backward, names_.size()) ||
      !known(parent, modules_.size()))
    return 0;
  const auto module = static_cast<Module>(modules_.size());
  modules_.push_back({object, forward, backward, parent});
  by_object_[object] = module;
  return module;
}

void HookRanges::forget_module(Module module) {
  const std::lock_guard lock(mutex_);
  if (module == 0 || module >= modules_.size()) return;
  const auto at = by_object_.find(modules_[module].object);
  if (at != by_object_.end() && at->second == module) by_object_.erase(at);
}

/// Threads stay known to the end: autograd's may be asked for by others.
HookRanges::Thread& HookRanges::this_thread() {
  thread_local std::shared_ptr<Thread> mine;
  thread_local std::uint64_t of = 0;
  if (of != serial_) {
    of = serial_;
    mine = std::make_shared<Thread>();
    mine->thread = static_cast<std::uint32_t>(gettid());
    mine->open = ranges_of_this_thread();
    std::erase_if(threads_, [](const auto& other) { return other.use_count() == 1; });
    threads_.push_back(mine);
  }
  return *mine;
}

HookRanges::Frame HookRanges::opened(Thread& thread, Name name, Module module) {
  Frame frame{module, 0, false};
  const Recorder recorder = recorder_now();
  if (!recorder.there) return frame;
  frame.pushed = push_range(thread.open, &kDomain, names_[name]);
  if (!recorder.records) return frame;
  frame.id = ++last_id_;
  events_.push_back({monotonic_now_ns(), frame.id, spool::MarkerWhat::begin, name, thread.thread});
  return frame;
}

/// The last of these frames.
void HookRanges::close(Thread& thread, std::vector<Frame>& frames) {
  const Frame frame = frames.back();
  frames.pop_back();
  if (frame.pushed) pop_range(thread.open, &kDomain);
  if (frame.id != 0)
    events_.push_back({monotonic_now_ns(), frame.id, spool::MarkerWhat::end, 0, thread.thread});
}

HookRanges::Known HookRanges::forward_begins(const void* object) {
  const std::lock_guard lock(mutex_);
  Thread& thread = this_thread();
  const auto at = by_object_.find(object);
  if (at == by_object_.end()) return thread.forward.empty() ? Known::no : Known::no_but_inside;
  if (recorder_now().records) count_call();
  const Entry& entry = modules_[at->second];
  if (entry.forward != 0) {
    Frame frame = opened(thread, entry.forward, at->second);
    thread.forward.push_back(frame);
  }
  return Known::yes;
}

void HookRanges::count_call() {
  const std::int64_t now_ns = monotonic_now_ns();
  if (calls_.fetch_add(1, std::memory_order_relaxed) == 0) first_call_ns_ = now_ns;
  last_call_ns_ = now_ns;
}

HookRanges::Module HookRanges::forward_ends(const void* object) {
  const std::lock_guard lock(mutex_);
  const auto at = by_object_.find(object);
  if (at == by_object_.end() || modules_[at->second].forward == 0) return 0;
  Thread& thread = this_thread();
  const auto is_it = [&](const Frame& frame) { return frame.module == at->second; };
  if (std::none_of(thread.forward.begin(), thread.forward.end(), is_it)) return 0;
  while (!is_it(thread.forward.back())) close(thread, thread.forward);
  close(thread, thread.forward);
  return modules_[at->second].backward != 0 && recorder_now().there ? at->second : 0;
}

/// Outermost first, those alone that have a name.
std::vector<HookRanges::Module> HookRanges::chain_of(Module module) const {
  std::vector<Module> chain;
  for (; module != 0; module = modules_[module].parent)
    if (modules_[module].backward != 0) chain.push_back(module);
  std::reverse(chain.begin(), chain.end());
  return chain;
}

bool HookRanges::backward_begins(Module module) {
  const std::lock_guard lock(mutex_);
  if (module >= modules_.size()) return false;
  Thread& thread = this_thread();
  const bool first = std::all_of(threads_.begin(), threads_.end(),
                                 [](const auto& other) { return other->backward.empty(); });
  std::vector<Frame>& frames = thread.backward;
  const auto is_it = [&](const Frame& frame) { return frame.module == module; };
  if (std::any_of(frames.begin(), frames.end(), is_it)) return first;
  const std::vector<Module> chain = chain_of(module);
  const auto differs =
      std::mismatch(frames.begin(), frames.end(), chain.begin(), chain.end(),
                    [](const Frame& frame, Module of_chain) { return frame.module == of_chain; });
  const auto common = static_cast<std::size_t>(differs.first - frames.begin());
  while (frames.size() > common) close(thread, frames);
  for (std::size_t i = common; i < chain.size(); ++i) {
    Frame frame = opened(thread, modules_[chain[i]].backward, chain[i]);
    frames.push_back(frame);
  }
  return first;
}

void HookRanges::backward_ends() {
  const std::lock_guard lock(mutex_);
  for (const auto& thread : threads_)
    while (!thread->backward.empty()) close(*thread, thread->backward);
}

void HookRanges::stop(std::string_view why) {
  const std::lock_guard lock(mutex_);
  for (const auto& thread : threads_)
    for (auto* const frames : {&thread->forward, &thread->backward})
      while (!frames->empty()) close(*thread, *frames);
  stopped_.emplace_back(why);
}

std::vector<std::string> HookRanges::stopped() {
  const std::lock_guard lock(mutex_);
  return stopped_;
}

void HookRanges::begin(Name name) {
  const std::lock_guard lock(mutex_);
  if (name >= names_.size()) name = 0;
  Thread& thread = this_thread();
  Frame frame = name == 0 ? Frame{} : opened(thread, name, 0);
  thread.forward.push_back(frame);
}

void HookRanges::end() {
  const std::lock_guard lock(mutex_);
  Thread& thread = this_thread();
  if (!thread.forward.empty()) close(thread, thread.forward);
}

void HookRanges::loop_begins() {
  {
    const std::lock_guard lock(mutex_);
    if (looping_ || !recorder_now().there) return;
    looping_ = true;
  }
  recorder_loop_begins();  // may wait for the devices
  const std::lock_guard lock(mutex_);
  step_begin_ns_ = monotonic_now_ns();
  step_recorded_ = recorder_now().records;
}

void HookRanges::step_ends() {
  loop_begins();
  const std::int64_t end_ns = monotonic_now_ns();
  const bool was_recorded = recorder_now().records;
  const std::int64_t next = recorder_step_ends();  // may wait for the devices
  if (next >= 0) next_step(next, end_ns, was_recorded);
}

/// The step before it, as a range of this thread: it is known now to be one. What the recorder did
/// at the border is in neither.
void HookRanges::next_step(std::int64_t index, std::int64_t at_ns, bool was_recorded) {
  const std::lock_guard lock(mutex_);
  if (step_recorded_ && was_recorded && index > 0) {
    const std::uint32_t thread = this_thread().thread;
    const std::uint64_t id = ++last_id_;
    events_.push_back({step_begin_ns_, id, spool::MarkerWhat::begin, 0, thread, index - 1});
    events_.push_back({at_ns, id, spool::MarkerWhat::end, 0, thread});
  }
  step_begin_ns_ = monotonic_now_ns();
  step_recorded_ = recorder_now().records;
}

void HookRanges::collect(SpoolFile& spool) {
  std::vector<Event> events;
  {
    const std::lock_guard lock(mutex_);
    events.swap(events_);
    for (Event& event : events) {
      std::uint32_t& text = texts_[event.name];
      if (text == 0) text = spool.text(names_[event.name]);  // once a name
      event.name = text;
    }
  }
  const std::uint32_t domain = events.empty() ? 0 : spool.text(spool::kHookDomain);
  for (const Event& event : events) {
    spool::SpoolMarker marker;
    marker.at_ns = event.at_ns;
    marker.id = event.id;
    marker.what = event.what;
    marker.name = event.step < 0 ? event.name : spool.text("step " + std::to_string(event.step));
    marker.domain = domain;
    marker.thread = event.thread;
    spool.append(marker);
  }
}

}  // namespace nsa::inject
