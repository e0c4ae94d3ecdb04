// Threads that wait in functions of known names are found there.
#include "inject/host_stacks.hpp"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "inject/symbols.hpp"
#include "sanitizers.hpp"

// Not in an unnamed namespace: their names have to be visible to the dynamic linker.
namespace nsa::test::stacks {

std::mutex mutex;
std::condition_variable wake;
std::atomic<int> there{0};
std::atomic<bool> over{false};

[[gnu::noinline]] void waits_on_a_condition() {
  std::unique_lock lock(mutex);
  ++there;
  wake.wait(lock, [] { return over.load(); });
}

[[gnu::noinline]] void sleeps_again_and_again() {
  ++there;
  while (!over) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

[[gnu::noinline]] void spins(int) {
  ++there;
  while (!over) asm volatile("");
}

[[gnu::noinline]] void blocks_every_signal() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  waits_on_a_condition();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);  // what is pending would come now
}

/// A parent by vfork takes no signal until its child is gone.
[[gnu::noinline]] void waits_for_a_child() {
  ++there;
  if (const pid_t child = vfork(); child == 0) {
    usleep(1'700'000);
    _exit(0);
  }
}

}  // namespace nsa::test::stacks

namespace {

using namespace nsa::test::stacks;

/// host_stacks() while threads run these functions, which have begun to.
std::string stacks_of(const std::vector<void (*)()>& functions) {
  nsa::inject::prime_host_stacks();
  over = false;
  there = 0;
  std::vector<std::thread> threads;
  for (void (*function)() : functions) threads.emplace_back(function);
  while (there < static_cast<int>(functions.size())) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::string text = nsa::inject::host_stacks();
  {
    const std::lock_guard lock(mutex);
    over = true;
  }
  wake.notify_all();
  for (std::thread& thread : threads) thread.join();
  return text;
}

/// The only line with that text, or "".
std::string line_with(const std::string& text, const std::string& part) {
  const std::size_t at = text.find(part);
  if (at == std::string::npos || text.find(part, at + part.size()) != std::string::npos) return "";
  const std::size_t begin = text.rfind('\n', at) + 1;  // npos + 1 = 0
  return text.substr(begin, text.find('\n', at) - begin);
}

std::array<struct sigaction, 65> actions() {
  std::array<struct sigaction, 65> all{};
  for (int n = SIGRTMIN; n <= SIGRTMAX; ++n)
    sigaction(n, nullptr, &all[static_cast<std::size_t>(n)]);
  return all;
}

/// But for the flag that the C library adds to whatever it sets.
bool same(const std::array<struct sigaction, 65>& a, const std::array<struct sigaction, 65>& b) {
  constexpr int kRestorer = 0x04000000;
  for (std::size_t n = 0; n < a.size(); ++n)
    if (a[n].sa_handler != b[n].sa_handler || ((a[n].sa_flags ^ b[n].sa_flags) & ~kRestorer) != 0)
      return false;
  return true;
}

/// Signals come late under the thread sanitizer: a thread that waits takes none.
bool left_out() {
  if (nsa::test::kThreadSanitizer) WARN("skipped: the thread sanitizer holds signals back");
  return nsa::test::kThreadSanitizer;
}

}  // namespace

TEST_CASE("each thread's stack names the function that it waits in", "[probes]") {
  if (left_out()) return;
  const std::string text =
      stacks_of({waits_on_a_condition, sleeps_again_and_again, [] { spins(3); }});
  INFO(text);
  const std::string waiter = line_with(text, "nsa::test::stacks::waits_on_a_condition()");
  CHECK(waiter.find("pthread_cond_wait < nsa::test") != std::string::npos);
  CHECK(waiter.find(", waits in futex") != std::string::npos);
  CHECK_FALSE(line_with(text, "nsa::test::stacks::sleeps_again_and_again()").empty());
  const std::string spinner = line_with(text, "nsa::test::stacks::spins(int)");
  REQUIRE_FALSE(spinner.empty());
  // Innermost, but for a frame that the address sanitizer adds: the handler's own are left out.
  const std::string above = spinner.substr(0, spinner.find("nsa::test::"));
  CHECK(above.find(" < ") == above.rfind(" < "));
  CHECK(text.find("host_stacks()") == std::string::npos);  // who asks is not told
}

TEST_CASE("a thread that cannot answer is told as such, and the program lives on", "[probes]") {
  if (left_out()) return;
  const auto begin = std::chrono::steady_clock::now();
  const std::string text = stacks_of({blocks_every_signal, waits_for_a_child, [] { spins(3); }});
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
  INFO(text);
  CHECK_FALSE(line_with(text, "no stack: it blocks the signal that asks for one").empty());
  CHECK_FALSE(line_with(text, "no stack: it did not answer within 1 s").empty());
  CHECK_FALSE(line_with(text, "nsa::test::stacks::spins(int)").empty());
}

TEST_CASE("the program's handlers of realtime signals stay as they are", "[probes]") {
  if (left_out()) return;
  struct sigaction ours {};
  ours.sa_handler = [](int) {};
  ours.sa_flags = SA_RESTART;
  const auto before = actions();
  for (int n = SIGRTMIN + 1; n <= SIGRTMAX; ++n) sigaction(n, &ours, nullptr);
  const auto all_but_one = actions();
  CHECK(line_with(stacks_of({waits_on_a_condition}), "waits_on_a_condition()") != "");
  CHECK(same(actions(), all_but_one));
  sigaction(SIGRTMIN, &ours, nullptr);
  const auto every = actions();
  CHECK(stacks_of({waits_on_a_condition}) ==
        "the program has a handler for each realtime signal\n");
  CHECK(same(actions(), every));
  for (int n = SIGRTMIN; n <= SIGRTMAX; ++n)
    sigaction(n, &before[static_cast<std::size_t>(n)], nullptr);
}

TEST_CASE("no more than 64 threads are asked, and the others are counted", "[probes]") {
  if (left_out()) return;
  const std::string text = stacks_of(std::vector<void (*)()>(70, waits_on_a_condition));
  std::size_t lines = 0;
  for (const char c : text) lines += c == '\n';
  CHECK(lines == 65);
  CHECK(text.ends_with("and 6 threads more\n"));
}

TEST_CASE("names of symbols are as in the source, and other texts stay", "[probes]") {
  CHECK(nsa::inject::demangled("_ZN3nsa7kernels5scoreIfEEvPKT_") ==
        "void nsa::kernels::score<float>(float const*)");
  CHECK(nsa::inject::demangled("triton_poi_fused_0") == "triton_poi_fused_0");
}
