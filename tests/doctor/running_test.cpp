// `nsatune doctor -- CMD`: a program that runs, with and without a GPU.
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "catch.hpp"
#include "fixtures.hpp"

namespace nsa::test {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Whether a process of that number runs; one that only waits to be collected does not.
bool alive(const std::string& pid) {
  std::ifstream file("/proc/" + std::to_string(std::stol(pid)) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return false;
  return line[line.rfind(')') + 2] != 'Z';
}

/// A process that got SIGKILL dies when the kernel next runs it, so it has a moment.
bool ends(const std::string& pid) {
  const Clock::time_point start = Clock::now();
  while (alive(pid)) {
    if (seconds_since(start) > 10) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

const std::string kFakeNvml = std::string("LD_LIBRARY_PATH=") + NSA_FAKE_NVML;

}  // namespace

TEST_CASE("a command runs to its end, its output is judged and shown, its arguments are its own",
          "[doctor]") {
  const Folder folder;
  const Result r = nsatune(folder,
                           "doctor --json -- sh -c 'echo Using slow _sdpa_over_ranges >&2; echo "
                           "--json -- \"$0\"; exit 3' --list");
  CHECK(r.exit_code == 1);
  CHECK(r.err.find("Using slow _sdpa_over_ranges\n") != std::string::npos);
  CHECK(r.err.find("--json -- --list\n") != std::string::npos);
  const Json document = json_of(r, "doctor");
  CHECK(rules_of(document) == std::set<std::string>{"log_slow_path"});
  CHECK(document["not_judged"].dump().find("exit code 3") != std::string::npos);
  CHECK(nsatune(folder, "doctor -q -- sh -c 'echo shown'").err.empty());
  CHECK(nsatune(folder, "doctor -q -- true").exit_code == 0);
}

TEST_CASE("a command that fails before anything was measured is not one without findings",
          "[doctor]") {
  const Folder folder;
  const Result failed = nsatune(folder, "doctor -- sh -c 'echo no module named torch; exit 7'");
  CHECK(failed.exit_code == 3);
  CHECK(failed.out.find("it failed with exit code 7 before its load was read") !=
        std::string::npos);
  CHECK(nsatune(folder, "doctor -q -- sh -c 'kill -SEGV $$'").exit_code == 3);
  const Result absent = nsatune(folder, "doctor -- ./no_such_program");
  CHECK(absent.exit_code == 2);
  CHECK(absent.err.find("cannot start ./no_such_program") != std::string::npos);
}

TEST_CASE("a command ignores none of the signals that doctor does", "[doctor]") {
  const Folder folder;
  const Result result = nsatune(folder, "doctor -- grep SigIgn /proc/self/status");
  const std::string all = result.out + result.err;
  const std::size_t at = all.find("SigIgn:?");  // the tab is a control character
  REQUIRE(at != std::string::npos);
  const std::uint64_t ignored = std::stoull(all.substr(at + 8), nullptr, 16);
  for (const int number : {SIGPIPE, SIGXFSZ}) CHECK((ignored >> (number - 1) & 1) == 0);
}

TEST_CASE("files may stand before a command", "[doctor]") {
  const Folder folder;
  folder.write("train.yaml", "runtime: {gradient_checkpointing: true}\n");
  const Json document = json_of(nsatune(folder, "doctor -q train.yaml --json -- true"), "doctor");
  CHECK(rules_of(document) == std::set<std::string>{"config_checkpointing"});
}

TEST_CASE("control characters of a command's output do not reach the terminal", "[doctor]") {
  const Folder folder;
  const Result r = nsatune(folder, "doctor -- printf 'a\\033[31mb\\n'");
  CHECK(r.err == "a?[31mb\n");
}

TEST_CASE("a command that does not end by itself is ended by --for, with what it started",
          "[doctor]") {
  const Folder folder;
  const Clock::time_point start = Clock::now();
  const Result r =
      nsatune(folder, "doctor -q --for 1s -- sh -c 'sleep 975 & echo $! >sleeper; sleep 975'");
  CHECK(r.exit_code == 0);
  CHECK(seconds_since(start) < 60);
  CHECK(ends(read_text_file(folder.file("sleeper"))));
}

TEST_CASE("Ctrl-C ends the command, and what was seen is still judged", "[doctor]") {
  const Folder folder;
  const std::string script =
      "cd '" + folder.path().string() +
      "' && { '" NSATUNE_PROGRAM
      "' doctor --json -- sh -c 'echo $$ >shell; echo Using slow _sdpa_over_ranges; sleep 975' "
      ">out 2>err & p=$!; while ! test -s err; do sleep 0.1; done; kill -INT $p; wait $p; }";
  const int status = std::system(script.c_str());
  CHECK(WEXITSTATUS(status) == 1);
  const Result r{1, read_text_file(folder.file("out")), ""};
  CHECK(rules_of(json_of(r, "doctor")) == std::set<std::string>{"log_slow_path"});
  CHECK(ends(read_text_file(folder.file("shell"))));
}

TEST_CASE("a GPU that is 5 % busy beside a busy core is found, and recorded for later",
          "[doctor]") {
  const Folder folder;
  const std::string loop =
      "sh -c 'end=$(($(date +%s)+5)); while [ $(date +%s) -lt $end ]; do :; done'";
  const Result r =
      nsatune(folder, "doctor -q --json --record load.jsonl --for 4s -- " + loop, kFakeNvml);
  CHECK(r.exit_code == 1);
  const std::set<std::string> found = rules_of(json_of(r, "doctor"));
  CHECK(found.contains("command_idle_gpu"));
  CHECK(found.contains("command_memory_unused"));
  CHECK(rules_of(json_of(nsatune(folder, "doctor load.jsonl --json"), "doctor")) == found);
}

TEST_CASE("without NVML the GPU is said to be not judged", "[doctor]") {
  const Folder folder;
  if (std::filesystem::exists("/dev/nvidiactl")) {
    WARN("skipped: this machine has NVML");
    return;
  }
  const Result r = nsatune(folder, "doctor -- true");
  CHECK(r.out.find("not judged: true: the GPU: ") != std::string::npos);
}

}  // namespace nsa::test
