// trace record around a program that leaves spools as the tracer inside would.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "../cli/program.hpp"
#include "catch.hpp"
#include "nsa/trace/read.hpp"
#include "text.hpp"
#include "traces.hpp"

namespace nsa::test {
namespace {

const std::string kLibrary = " --library " NSATUNE_FAKE_TRACED " ";  // any file is one for the fake

Result record(const Folder& folder, const std::string& options, const std::string& what,
              const std::string& environment = "") {
  return nsatune(folder,
                 "trace record" + kLibrary + options + " -- " NSATUNE_FAKE_TRACED " " + what,
                 environment);
}

std::vector<std::string> files_in(const Folder& folder, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path() / name))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("a spool of another recorder in the same folder is left alone", "[trace]") {
  const Folder folder;
  const Result result = record(folder, "-o out", "foreign");
  CHECK(contains(result.err, "nothing was recorded"));
  const auto files = files_in(folder, "out");
  REQUIRE(files.size() == 1);
  CHECK(files[0].ends_with(".nsaspool"));
}

TEST_CASE("a recorded program leaves a trace, and keeps its exit code and output", "[trace]") {
  const Folder folder;
  const Result good = record(folder, "-o out", "good");
  CHECK(good.exit_code == 0);
  CHECK(good.out.empty());
  CHECK(contains(good.err, "2 GPU operations recorded, 0 dropped"));
  const auto files = files_in(folder, "out");
  REQUIRE(files.size() == 2);  // the spool is gone
  CHECK(files[1].ends_with(".summary.txt"));
  CHECK(contains(read_text_file(folder.file("out/" + files[1])), "score_kernel"));
  const trace::Trace t = trace::read_trace(folder.file("out/" + files[0]));
  CHECK(t.ops.size() == 2);
  CHECK(t.processes.at(0).totals->complete);

  CHECK(record(folder, "", "exit 3").exit_code == 3);
  CHECK(record(folder, "", "exit 255").exit_code == 255);
  const Result echo =
      nsatune(folder, "trace record" + kLibrary + "-- " NSATUNE_FAKE_TRACED " echo --steps < " +
                          folder.file("in.txt"));
  CHECK(echo.exit_code != 0);  // the shell finds no in.txt
  folder.write("in.txt", "typed");
  CHECK(record(folder, "", "echo --steps < in.txt").out == "typed|--steps|\n");
}

TEST_CASE("a recorded program ignores none of the signals that the recorder does", "[trace]") {
  const Folder folder;
  const Result result =
      nsatune(folder, "trace record" + kLibrary + "-- grep SigIgn /proc/self/status");
  INFO(result.err);
  REQUIRE(result.out.starts_with("SigIgn:\t"));
  const std::uint64_t ignored = std::stoull(result.out.substr(8), nullptr, 16);
  for (const int number : {SIGPIPE, SIGXFSZ}) CHECK((ignored >> (number - 1) & 1) == 0);
}

TEST_CASE("a program that was killed says what is missing, and its signal is its code", "[trace]") {
  const Folder folder;
  const Result killed = record(folder, "-o out", "killed");
  CHECK(killed.exit_code == 128 + SIGKILL);
  CHECK(contains(killed.err, "2 GPU operations recorded"));
  CHECK(contains(killed.err, "BUT 3 were launched"));
  CHECK(contains(killed.err, "200 ms of its end are missing"));
  CHECK(files_in(folder, "out").size() == 2);
}

TEST_CASE("each rank gets a file, and all a merged view", "[trace]") {
  const Folder folder;
  const Result ranks = record(folder, "-o out --keep-spools --json", "ranks");
  const Json document = json_of(ranks, "trace_record");
  CHECK(document["processes"].size() == 2);
  CHECK(document["processes"][0]["all_there"] == true);
  CHECK(std::filesystem::exists(folder.file("out/rank0.json.gz")));
  CHECK(std::filesystem::exists(folder.file("out/rank1.json.gz")));
  const trace::Trace all = trace::read_trace(document["merged"].get<std::string>());
  CHECK(all.ops.size() == 4);
  CHECK(all.processes.size() == 2);
  CHECK(files_in(folder, "out").size() == 8);  // two spools; a summary of each trace
  // Spools that were there before are somebody else's.
  const Json again = json_of(record(folder, "-o out --json", "silent"), "trace_record");
  CHECK(again["processes"].empty());
}

TEST_CASE("nothing recorded is said with the reason", "[trace]") {
  const Folder folder;
  const Result silent = record(folder, "-o new/traces", "silent");
  CHECK(silent.exit_code == 0);
  CHECK_FALSE(std::filesystem::exists(folder.file("new")));  // nobody needs an empty folder
  std::filesystem::create_directory(folder.file("old"));
  CHECK(record(folder, "-o old", "silent").exit_code == 0);
  CHECK(std::filesystem::exists(folder.file("old")));
  CHECK(contains(silent.err, "nothing was recorded because "));
  const Result rubbish = record(folder, "", "rubbish");
  CHECK(rubbish.exit_code == 0);
  CHECK(contains(rubbish.err, "not read: "));
}

TEST_CASE("ranges by events are a recording too", "[trace]") {
  const Folder folder;
  const Result held = record(folder, "-o out", "ranges");
  CHECK(contains(held.err, "0 GPU operations recorded, 0 dropped, 1 ranges timed by events"));
  CHECK(contains(held.err, "degraded: another profiler holds CUPTI"));
  CHECK_FALSE(contains(held.err, "nothing was recorded"));
  const Json document = json_of(record(folder, "-o json --json", "ranges"), "trace_record");
  CHECK(document["nothing_because"] == nullptr);
  CHECK(document["processes"][0]["gpu_ranges"] == 1);
  CHECK(document["processes"][0]["all_there"] == nullptr);
  const Result summary =
      nsatune(folder, "trace summary " + document["processes"][0]["path"].get<std::string>());
  CHECK(contains(summary.out, "Ranges on the GPU, gaps included"));
  CHECK(contains(summary.out, "step N"));
}

TEST_CASE("notes are shown as data", "[trace]") {
  const Folder folder;
  const Result hang = record(folder, "", "hang");
  CHECK(contains(hang.err, "nothing ended on the GPU for 120 s"));
  CHECK(contains(hang.err, "last kernel: score_kernel"));
  CHECK_FALSE(contains(hang.err, "\x1b"));
}

TEST_CASE("the schedule reaches the tracer in the environment", "[trace]") {
  const Folder folder;
  const auto environment = [&](const std::string& options) {
    const Result r = record(folder, options, "environment");
    CHECK(r.exit_code == 0);
    return r.out;
  };
  const std::string steps = environment("--skip 10 --warmup 5 --steps 50 --hang-after 2m -o x");
  for (const char* line :
       {"NSATUNE_TRACE_WINDOW=steps\n", "NSATUNE_TRACE_SKIP=10\n", "NSATUNE_TRACE_WARMUP=5\n",
        "NSATUNE_TRACE_COUNT=50\n", "NSATUNE_TRACE_HANG_MS=120000\n", "CUDA_INJECTION64_PATH=/",
        "NVTX_INJECTION64_PATH=/", "NSATUNE_TRACE_DIR=/"}) {
    CAPTURE(line);
    CHECK(contains(steps, line));
  }
  CHECK(contains(environment(""), "NSATUNE_TRACE_WINDOW=all\n"));
  CHECK(contains(environment("--calls 100"), "NSATUNE_TRACE_WINDOW=calls\n"));
  CHECK(contains(environment("--profiler-api"), "NSATUNE_TRACE_WINDOW=profiler_api\n"));
  const std::string seconds =
      environment("--seconds 30s --skip-seconds 5s --hang-after 2m --end-on-hang");
  CHECK(contains(seconds, "NSATUNE_TRACE_DURATION_MS=30000\n"));
  CHECK(contains(seconds, "NSATUNE_TRACE_SKIP_MS=5000\n"));
  CHECK(contains(seconds, "NSATUNE_TRACE_ON_HANG=end\n"));
}

TEST_CASE("the hook for Python comes in by PYTHONPATH, and not with --no-python", "[trace]") {
  const Folder folder;
  std::filesystem::create_directories(folder.path() / "lib/nsatune_python");
  folder.write("lib/library.so", "");
  folder.write("lib/nsatune_python/sitecustomize.py", "");
  const auto environment = [&](const std::string& options, const std::string& before) {
    const Result r = nsatune(folder,
                             "trace record --library " + folder.file("lib/library.so") + " " +
                                 options + " -- " NSATUNE_FAKE_TRACED " environment",
                             before);
    CHECK(r.exit_code == 0);
    return r.out;
  };
  const std::string hook = folder.file("lib/nsatune_python");
  const std::string with = environment("--module-depth 2 --module-names a,b", "PYTHONPATH=/theirs");
  CHECK(contains(with, "PYTHONPATH=" + hook + ":/theirs\n"));
  CHECK(contains(with, "NSATUNE_TRACE_PYTHON=1\n"));
  CHECK(contains(with, "NSATUNE_TRACE_MODULE_DEPTH=2\n"));
  CHECK(contains(with, "NSATUNE_TRACE_MODULE_NAMES=a,b\n"));
  CHECK_FALSE(contains(with, "NSATUNE_TRACE_PYTHON_STACKS_US"));
  CHECK_FALSE(contains(environment("--python-stacks off", ""), "NSATUNE_TRACE_PYTHON_STACKS_US"));
  CHECK(
      contains(environment("--python-stacks 10ms", ""), "NSATUNE_TRACE_PYTHON_STACKS_US=10000\n"));
  CHECK(
      contains(environment("", "PYTHONPATH="), "PYTHONPATH=" + hook + "\n"));  // no folder "" in it
  const std::string without = environment("--no-python --python-stacks 10ms", "PYTHONPATH=/theirs");
  CHECK(contains(without, "PYTHONPATH=/theirs\n"));
  CHECK_FALSE(contains(without, "NSATUNE_TRACE_PYTHON"));
  CHECK(contains(environment("--step-kernel adam --without memory,sync", ""),
                 "NSATUNE_TRACE_STEP_KERNEL=adam\n"));
  CHECK(contains(record(folder, "", "good").err, "Python programs get no hook: "));
  CHECK_FALSE(contains(record(folder, "--no-python", "good").err, "get no hook"));
}

TEST_CASE("what cannot be recorded is refused before the program starts", "[trace]") {
  const Folder folder;
  CHECK(record(folder, "--steps 3 --calls 4", "good").exit_code == 2);
  CHECK(record(folder, "--seconds 3s --warmup 4", "good").exit_code == 2);
  CHECK(record(folder, "--seconds soon", "good").exit_code == 2);
  CHECK(record(folder, "--module-depth deep", "good").exit_code == 2);
  for (const char* often : {"0ms", "10", "1.5ms", "11s", "99999999999999999999ms", "-5ms", "often"})
    CHECK(record(folder, std::string("--python-stacks ") + often, "good").exit_code == 2);
  CHECK(record(folder, "--without kernels", "good").exit_code == 2);
  CHECK(record(folder, "--step-kernel k --step-name s", "good").exit_code == 2);
  CHECK(record(folder, "--step-kernel k --profiler-api", "good").exit_code == 2);
  CHECK(record(folder, "", "good", "CUDA_INJECTION64_PATH=/other/tool.so").exit_code == 2);
  CHECK(nsatune(folder, "trace record").exit_code == 2);
  CHECK_FALSE(std::filesystem::exists(folder.file("trace")));
  CHECK(nsatune(folder, "trace record" + kLibrary + "-- ./absent").exit_code == 2);
  CHECK_FALSE(std::filesystem::exists(folder.file("trace")));
  const Result no_library =
      nsatune(folder, "trace record --library absent.so -- " NSATUNE_FAKE_TRACED);
  CHECK(no_library.exit_code == 4);
  CHECK(contains(no_library.err, "absent.so"));
  folder.write("file", "");
  CHECK(record(folder, "-o file", "good").exit_code == 2);
  CHECK(record(folder, "-o /proc/traces", "good").exit_code ==
        4);  // nobody can make a folder there
}

TEST_CASE("a signal that somebody sends goes on to the program", "[trace]") {
  const Folder folder;
  const std::string out = folder.file("out.txt"), traces = folder.file("traces");
  const pid_t pid = fork();
  if (pid == 0) {
    if (!freopen(out.c_str(), "w", stdout) || !freopen("/dev/null", "w", stderr)) _exit(99);
    execl(NSATUNE_PROGRAM, NSATUNE_PROGRAM, "trace", "record", "--library", NSATUNE_FAKE_TRACED,
          "-o", traces.c_str(), "--", NSATUNE_FAKE_TRACED, "wait", nullptr);
    _exit(98);
  }
  const auto ready = [&] {
    std::stringstream text;
    text << std::ifstream(out).rdbuf();
    return contains(text.str(), "ready");
  };
  for (int i = 0; i < 2000 && !ready(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  kill(pid, SIGTERM);
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 7);
  CHECK(files_in(folder, "traces").size() == 2);
}

}  // namespace nsa::test
