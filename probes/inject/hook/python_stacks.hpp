// Where the program's main thread stands in Python, again and again: what the host does while a GPU
// is idle is a line of somebody's program.
//
// A thread of ours asks for the stack every few milliseconds by Py_AddPendingCall; the main thread
// answers between two instructions of its own. So nobody else ever takes Python's lock, and while
// the main thread is in C (a blocking call, a kernel launch) it answers when it comes back: it was
// in that one call since it was asked, which is as many samples as the time is periods.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "inject/hook/python_api.hpp"
#include "inject/spool_file.hpp"

namespace nsa::inject {

/// One a process, never destroyed.
class PythonStacks {
 public:
  static PythonStacks& get();

  /// Asks from now on, while the recorder records; nothing where the process has no Python.
  void start(std::int64_t period_ns);
  /// Asks no more. Any thread may call it, more than once.
  void stop();
  /// Samples since the last time to the spool, with the frames they need. One thread at a time.
  void collect(SpoolFile& spool);

  /// How often a stack was taken, and what of the main thread's time that took in all.
  std::uint64_t taken() const { return taken_.load(); }
  /// This Python cannot be asked: nothing is taken.
  bool failed() const { return breaker_state_ == EvalBreaker::State::not_found; }
  std::int64_t taking_ns() const { return taking_ns_.load(); }
  /// From the first of them to the last.
  std::int64_t span_ns() const { return last_ns_.load() - first_ns_.load(); }

 private:
  struct Code {
    std::string function, file;
    bool is_ours = false;                          // of our hook: no part of the program
    std::unordered_map<int, std::uint32_t> lines;  // by instruction
  };
  struct Frame {
    std::uint32_t caller = 0, code = 0, line = 0;
    bool operator==(const Frame&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Frame& frame) const {
      const std::uint64_t mixed =
          ((std::uint64_t{frame.caller} << 32 | frame.code) * 0x9E3779B97F4A7C15u) ^ frame.line;
      return mixed * 0xC2B2AE3D27D4EB4Fu >> 7;
    }
  };
  struct Sample {
    std::int64_t at_ns = 0;
    std::uint32_t frame = 0, thread = 0, count = 0;
  };

  void run();
  void ask();
  void answer();
  void stop_at_exit_of_python();
  std::uint32_t walk();
  std::uint32_t code_number(PythonApi::Object code);
  std::uint32_t line_in(Code& code, PythonApi::Object frame);
  std::uint32_t frame_number(const Frame& frame);

  PythonApi python_;
  EvalBreaker breaker_{python_};
  std::atomic<EvalBreaker::State> breaker_state_{breaker_.state()};
  std::int64_t period_ns_ = 0;
  bool wants_exit_ = true;  // Python's exit is to stop us

  std::mutex wake_mutex_;  // of the thread; held while it asks, and when Python forks or ends
  std::condition_variable wake_;
  bool stopped_ = true;
  std::thread thread_;
  std::int64_t asked_ns_ = 0;
  std::atomic<bool> asked_{false};  // and not answered

  // Of the main thread alone.
  std::vector<Code> codes_{Code{}};
  std::unordered_map<PythonApi::Object, std::uint32_t> code_numbers_;  // each is held
  std::unordered_map<Frame, std::uint32_t, Hash> frame_numbers_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> stack_;  // code, line; innermost first

  std::mutex mutex_;  // of what waits for collect()
  std::vector<Sample> samples_;
  struct NewFrame {
    std::uint32_t number = 0, caller = 0, line = 0;
    std::string function, file;
  };
  std::vector<NewFrame> frames_;

  std::atomic<std::uint64_t> taken_{0};
  std::atomic<std::int64_t> taking_ns_{0}, first_ns_{0}, last_ns_{0};
};

}  // namespace nsa::inject
