#include "inject/host_stacks.hpp"

#include <execinfo.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "inject/symbols.hpp"

namespace nsa::inject {
namespace {

constexpr std::size_t kMostThreads = 64, kMostFrames = 64;
constexpr std::size_t kOwnFrames = 2;  // the handler and the kernel's trampoline
constexpr std::chrono::milliseconds kAnswer{1000}, kLook{1};

/// What a thread is asked to fill.
struct Answer {
  pid_t thread = 0;
  const char* trouble = nullptr;  // why it was not asked
  std::array<void*, kOwnFrames + kMostFrames> frames{};
  std::atomic<int> count{-1};  // of frames; -1 = no answer yet
};
using Answers = std::array<Answer, kMostThreads>;

/// The handler: addresses only, what they are called is looked up by who asked.
void fill(int, siginfo_t* about, void*) {
  if (about->si_code != SI_QUEUE || about->si_pid != getpid()) return;  // somebody else's
  const int error = errno;
  auto* answer = static_cast<Answer*>(about->si_value.sival_ptr);
  answer->count = backtrace(answer->frames.data(), static_cast<int>(answer->frames.size()));
  errno = error;
}

/// A realtime signal without a handler of the program, ours as long as this lives.
class BorrowedSignal {
 public:
  BorrowedSignal() {
    for (int n = SIGRTMAX; n >= SIGRTMIN && number_ == 0; --n) {
      sigaction(n, nullptr, &before_);
      const bool free = before_.sa_handler == SIG_DFL || before_.sa_handler == SIG_IGN;
      if (free) number_ = n;
    }
    if (number_ == 0) return;
    struct sigaction ours {};
    ours.sa_sigaction = fill;
    ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    sigaction(number_, &ours, nullptr);
  }
  ~BorrowedSignal() {
    if (number_ == 0) return;
    // Ignoring it throws away what no thread has taken yet: the default action ends the program.
    signal(number_, SIG_IGN);
    sigaction(number_, &before_, nullptr);
  }
  BorrowedSignal(const BorrowedSignal&) = delete;
  BorrowedSignal& operator=(const BorrowedSignal&) = delete;
  int number() const noexcept { return number_; }  // 0: none is free

 private:
  int number_ = 0;
  struct sigaction before_ {};
};

std::string line_of_file(pid_t thread, const char* name) {
  std::string line;
  std::getline(std::ifstream("/proc/self/task/" + std::to_string(thread) + "/" + name), line);
  return line;
}

bool blocks(pid_t thread, int number) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/status");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("SigBlk:", 0) == 0)
      return (std::strtoull(line.c_str() + 7, nullptr, 16) >> (number - 1)) & 1u;
  return false;
}

/// All but this one, in the order of their numbers: the main thread first.
std::vector<pid_t> other_threads() {
  std::vector<pid_t> all;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", none))
    all.push_back(static_cast<pid_t>(std::stoi(entry.path().filename().string())));
  std::erase(all, static_cast<pid_t>(syscall(SYS_gettid)));
  std::sort(all.begin(), all.end());
  return all;
}

void ask(Answer& answer, int number) {
  if (blocks(answer.thread, number)) {
    answer.trouble = "it blocks the signal that asks for one";
    return;
  }
  siginfo_t about{};
  about.si_signo = number;
  about.si_code = SI_QUEUE;
  about.si_pid = getpid();
  about.si_uid = getuid();
  about.si_value.sival_ptr = &answer;
  if (syscall(SYS_rt_tgsigqueueinfo, getpid(), answer.thread, number, &about) != 0)
    answer.trouble = errno == ESRCH ? "it has ended" : "it could not be asked";
}

bool waits_for(const Answer& answer) {
  return answer.thread != 0 && !answer.trouble && answer.count < 0;
}

std::string stack_of(const Answer& answer) {
  if (answer.trouble) return std::string("no stack: ") + answer.trouble;
  const int count = answer.count;
  if (count < 0) return "no stack: it did not answer within 1 s";
  std::string text;
  for (std::size_t i = kOwnFrames; i < static_cast<std::size_t>(count); ++i)
    text += (text.empty() ? "" : " < ") + name_of_code(answer.frames[i], i != kOwnFrames);
  return text.empty() ? "no stack: its frames cannot be walked" : text;
}

/// Asks each thread and waits for the answers; false when there is no signal to ask with.
bool ask_all(Answers& answers, std::size_t count) {
  const BorrowedSignal signal;
  if (signal.number() == 0) return false;
  for (std::size_t i = 0; i < count; ++i) ask(answers[i], signal.number());
  const auto end = std::chrono::steady_clock::now() + kAnswer;
  while (std::any_of(answers.begin(), answers.end(), waits_for) &&
         std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(kLook);
  return true;
}

}  // namespace

void prime_host_stacks() {
  void* one[1];
  backtrace(one, 1);
}

std::string host_stacks() {
  const std::vector<pid_t> threads = other_threads();
  const std::size_t asked = std::min(threads.size(), kMostThreads);
  auto answers = std::make_unique<Answers>();
  std::vector<std::string> lines;  // how it is before a signal wakes anybody
  for (std::size_t i = 0; i < asked; ++i) {
    (*answers)[i].thread = threads[i];
    const std::string wait = line_of_file(threads[i], "wchan");
    lines.push_back(std::to_string(threads[i]) + " " + line_of_file(threads[i], "comm") +
                    (wait.empty() || wait == "0" ? "" : ", waits in " + wait));
  }
  if (!ask_all(*answers, asked)) return "the program has a handler for each realtime signal\n";
  std::string text;
  for (std::size_t i = 0; i < asked; ++i) text += lines[i] + ": " + stack_of((*answers)[i]) + '\n';
  if (threads.size() > asked)
    text += "and " + std::to_string(threads.size() - asked) + " threads more\n";
  // A thread that is in the handler still writes to its answer later: never freed.
  static auto* const kept = new std::vector<std::unique_ptr<Answers>>;
  if (std::any_of(answers->begin(), answers->end(), waits_for)) kept->push_back(std::move(answers));
  return text;
}

}  // namespace nsa::inject
