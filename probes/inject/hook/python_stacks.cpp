#include "inject/hook/python_stacks.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>

#include "inject/hook/recorder.hpp"
#include "nsa/schemas/trace_request.hpp"

namespace nsa::inject {
namespace {

constexpr std::size_t kDeepest = 200;       // frames of a stack, from the innermost
constexpr std::size_t kMostCodes = 50'000;  // functions, each held: its address is its name
constexpr std::size_t kMostFrames = 500'000;

/// What Python is given to call when it ends: the layout of PyMethodDef, no arguments.
struct MethodDefinition {
  const char* name;
  PythonApi::Object (*function)(PythonApi::Object, PythonApi::Object);
  int flags;
  const char* words;
};
constexpr int kNoArguments = 4;  // METH_NOARGS

}  // namespace

PythonStacks& PythonStacks::get() {
  static auto* const stacks = new PythonStacks;
  return *stacks;
}

/// A child that is forked is not traced. While Python forks our thread does not ask, or the child
/// could find Python's own lock of pending calls taken.
void PythonStacks::start(std::int64_t period_ns) {
  if (period_ns <= 0 || !python_.complete()) return;
  static const int registered =
      pthread_atfork([] { get().wake_mutex_.lock(); }, [] { get().wake_mutex_.unlock(); },
                     [] {
                       get().stopped_ = true;
                       get().wake_mutex_.unlock();
                     });
  if (registered != 0) return;
  const std::lock_guard lock(wake_mutex_);
  if (!stopped_ || thread_.joinable()) return;
  stopped_ = false;
  period_ns_ = period_ns;
  thread_ = std::thread([this] { run(); });
}

void PythonStacks::stop() {
  {
    const std::lock_guard lock(wake_mutex_);
    stopped_ = true;
  }
  wake_.notify_all();
}

/// At uneven times, so that a loop as long as the period is seen everywhere: by the golden ratio.
void PythonStacks::run() {
  pthread_setname_np(pthread_self(), "nsatune python");
  std::unique_lock lock(wake_mutex_);
  auto next = std::chrono::steady_clock::now();
  double phase = 0;
  while (!stopped_) {
    phase += 0.6180339887;
    phase -= phase >= 1 ? 1 : 0;
    next += std::chrono::nanoseconds(period_ns_);
    const auto early = std::chrono::nanoseconds(
        static_cast<std::int64_t>(phase * static_cast<double>(period_ns_) / 2));
    wake_.wait_until(lock, next - early, [this] { return stopped_; });
    if (!stopped_) ask();
    next = std::max(next, std::chrono::steady_clock::now() - std::chrono::nanoseconds(period_ns_));
  }
}

/// Under wake_mutex_.
void PythonStacks::ask() {
  if (asked_ || failed() || !recorder_now().records || python_.is_initialized() == 0) return;
  asked_ns_ = monotonic_now_ns();
  asked_ = true;
  const auto answers = [](void* stacks) {
    static_cast<PythonStacks*>(stacks)->answer();
    return 0;
  };
  if (python_.add_pending_call(answers, this) != 0) {
    asked_ = false;  // too many wait already
  } else if (breaker_state_ == EvalBreaker::State::known) {
    breaker_.set();
  }
}

/// On the main thread, with Python's lock held.
void PythonStacks::answer() {
  const std::int64_t now_ns = monotonic_now_ns();
  if (!asked_ || !recorder_now().there) return;  // a child that was forked with the question
  try {
    if (wants_exit_) stop_at_exit_of_python();
    if (breaker_.state() == EvalBreaker::State::searched) {
      breaker_.search(python_);
      breaker_state_ = breaker_.state();
      asked_ = false;
      return;  // it may be an answer to what was asked long ago
    }
    const std::uint32_t frame = walk();
    Sample sample{asked_ns_, frame, static_cast<std::uint32_t>(gettid()), 0};
    sample.count = static_cast<std::uint32_t>(
        std::min<std::int64_t>(1 + (now_ns - asked_ns_) / period_ns_, UINT32_MAX));
    const std::lock_guard lock(mutex_);
    if (frame != 0) samples_.push_back(sample);
  } catch (const std::exception&) {  // no memory: a sample less
  }
  const std::int64_t end_ns = monotonic_now_ns();
  if (taken_.fetch_add(1) == 0) first_ns_ = now_ns;
  taking_ns_ += end_ns - now_ns;
  last_ns_ = end_ns;
  asked_ = false;
}

/// Python's own exit comes before ours, and after it there is nobody to ask.
void PythonStacks::stop_at_exit_of_python() {
  wants_exit_ = false;
  static MethodDefinition definition{"nsatune_python_ends",
                                     [](PythonApi::Object, PythonApi::Object) {
                                       get().stop();
                                       return get().python_.build("");  // None
                                     },
                                     kNoArguments, nullptr};
  const PythonApi::Object module = python_.import("atexit");
  const PythonApi::Object function =
      module ? python_.make_function(&definition, nullptr, nullptr) : nullptr;
  const PythonApi::Object done =
      function ? python_.call_method(module, "register", "O", function) : nullptr;
  if (!done) python_.clear_error();
  for (const PythonApi::Object object : {done, function, module})
    if (object) python_.release(object);
}

/// The number of the innermost frame that is not ours; 0 where there is none.
std::uint32_t PythonStacks::walk() {
  stack_.clear();
  PythonApi::Object frame = python_.current_frame();
  if (frame) python_.hold(frame);
  while (frame && stack_.size() < kDeepest) {
    if (const PythonApi::Object code = python_.code(frame)) {
      const std::uint32_t number = code_number(code);
      if (number != 0 && !codes_[number].is_ours)
        stack_.emplace_back(number, line_in(codes_[number], frame));
      python_.release(code);
    }
    const PythonApi::Object caller = python_.caller(frame);
    python_.release(frame);
    frame = caller;
  }
  if (frame) python_.release(frame);
  std::uint32_t number = 0;
  for (auto at = stack_.rbegin(); at != stack_.rend(); ++at)
    number = frame_number({number, at->first, at->second});
  return number;
}

std::uint32_t PythonStacks::code_number(PythonApi::Object code) {
  const auto known = code_numbers_.find(code);
  if (known != code_numbers_.end()) return known->second;
  if (codes_.size() > kMostCodes) return 0;
  Code made;
  made.file = python_.text(code, "co_filename");
  made.function = python_.text(code, "co_qualname");
  if (made.function.empty()) made.function = python_.text(code, "co_name");
  made.is_ours =
      made.file.find('/' + std::string(spool::kPythonHookFolder) + '/') != std::string::npos;
  codes_.push_back(std::move(made));
  const auto number = static_cast<std::uint32_t>(codes_.size() - 1);
  code_numbers_.emplace(code, number);
  python_.hold(code);  // so that its address stays its own
  return number;
}

/// A table of the code says it, which takes longer the further down the line is.
std::uint32_t PythonStacks::line_in(Code& code, PythonApi::Object frame) {
  const auto line = [&] { return static_cast<std::uint32_t>(std::max(0, python_.line_of(frame))); };
  if (!python_.instruction_of) return line();
  const auto [at, added] = code.lines.try_emplace(python_.instruction_of(frame), 0);
  if (added) at->second = line();
  return at->second;
}

std::uint32_t PythonStacks::frame_number(const Frame& frame) {
  const auto known = frame_numbers_.find(frame);
  if (known != frame_numbers_.end()) return known->second;
  if (frame_numbers_.size() >= kMostFrames) return frame.caller;  // its caller stands for it
  const auto number = static_cast<std::uint32_t>(frame_numbers_.size() + 1);
  {
    const std::lock_guard lock(mutex_);
    frames_.push_back(
        {number, frame.caller, frame.line, codes_[frame.code].function, codes_[frame.code].file});
  }
  frame_numbers_.emplace(frame, number);
  return number;
}

void PythonStacks::collect(SpoolFile& spool) {
  std::vector<Sample> samples;
  std::vector<NewFrame> frames;
  {
    const std::lock_guard lock(mutex_);
    samples.swap(samples_);
    frames.swap(frames_);
  }
  for (const NewFrame& frame : frames) {
    spool::SpoolPythonFrame record;
    record.id = frame.number;
    record.caller = frame.caller;
    record.function = spool.text(frame.function);
    record.file = spool.text(frame.file);
    record.line = frame.line;
    spool.append(record);
  }
  for (const Sample& sample : samples) {
    spool::SpoolPythonSample record;
    record.at_ns = sample.at_ns;
    record.period_ns = period_ns_;
    record.frame = sample.frame;
    record.thread = sample.thread;
    record.count = sample.count;
    spool.append(record);
  }
}

}  // namespace nsa::inject
