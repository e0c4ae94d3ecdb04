// Which of two traces is faster, and when nobody can tell.
#include "nsa/trace/diff.hpp"

#include <random>

#include "../cli/program.hpp"
#include "catch.hpp"
#include "diff/samples.hpp"
#include "nsa/trace/diff_json.hpp"
#include "nsa/trace/merge.hpp"
#include "traces.hpp"

namespace nsa::test {
namespace {

using trace::DiffVerdict;

struct Run {
  int steps = 20;
  double kernel_us = 40, step_us = 100;
  unsigned seed = 1;
  std::string gpu = "NVIDIA H200", kernel = "flash_fwd_kernel";
  double clock_mhz = 1980;
  int throttle = 0;
};

/// Steps of two kernels each, with half a percent of noise.
std::string text_of(const Run& run) {
  std::mt19937 random(run.seed);
  std::normal_distribution<double> noise(1, .005);
  JsonTrace t;
  double at = 10;
  for (int i = 0; i < run.steps; ++i) {
    const double length = run.step_us * noise(random);
    t.range("ProfilerStep#" + std::to_string(i), at, length).range("attend_selected", at + 1, 50);
    t.launched(run.kernel, 2 * i + 1, at + 2, at + 5, run.kernel_us * noise(random));
    t.launched("other", 2 * i + 2, at + 3, at + 60, 20 * noise(random));
    at += length + 1;
  }
  const auto counter = [&](const char* name, double value) {
    t.raw(std::string(R"({"ph":"C","pid":0,"tid":0,"ts":1,"name":")") + name +
          R"(","args":{"value":)" + std::to_string(value) + "}}");
  };
  counter("sm_clock_mhz", run.clock_mhz);
  counter("throttle_reasons", run.throttle);
  const std::string text = t.text();
  return R"({"deviceProperties": [{"id": 0, "name": ")" + run.gpu + "\"}]," + text.substr(1);
}

std::vector<trace::Trace> side(const std::vector<std::string>& texts) {
  std::vector<trace::Trace> out;
  for (const std::string& text : texts) out.push_back(trace::read_json_trace(text, "t"));
  return out;
}
trace::TraceDiff diff(const Run& a, const Run& b, double margin = .02) {
  return trace::diff_traces(side({text_of(a)}), side({text_of(b)}), margin);
}

const trace::DiffRow& row(const std::vector<trace::DiffRow>& rows, const std::string& name) {
  for (const trace::DiffRow& r : rows)
    if (r.name == name) return r;
  FAIL("no row " + name);
  return rows.front();
}

}  // namespace

TEST_CASE("a trace against itself gives nothing", "[trace]") {
  for (const int steps : {0, 1, 2, 20}) {
    CAPTURE(steps);
    Run run;
    run.steps = std::max(steps, 1);
    const std::string text = text_of(run);
    const trace::TraceDiff d = trace::diff_traces(side({text}), side({text}), .02);
    CHECK(d.verdict == DiffVerdict::neutral);
    CHECK(d.reasons.empty());
    for (const auto* rows : {&d.stages, &d.kernels})
      for (const trace::DiffRow& r : *rows) CHECK(r.verdict == DiffVerdict::neutral);
  }
}

TEST_CASE("twenty runs of the same program raise no alarm, five percent always do", "[trace]") {
  int alarms = 0, found = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    Run a, b;
    a.seed = 100 + seed;
    b.seed = 200 + seed;
    const trace::TraceDiff same = diff(a, b);
    alarms += same.verdict != DiffVerdict::neutral;
    b.kernel_us = a.kernel_us * 1.05;
    const trace::TraceDiff slower = diff(a, b);
    found += row(slower.kernels, "flash_fwd_kernel").verdict == DiffVerdict::worse &&
             row(slower.stages, "attend_selected").verdict == DiffVerdict::worse;
    CHECK(slower.verdict == DiffVerdict::neutral);  // the step did not move
  }
  CHECK(alarms <= 1);
  CHECK(found == 20);
}

TEST_CASE("the verdict is that of the steps, with its interval", "[trace]") {
  Run a, b;
  b.seed = 2;
  b.step_us = 110;
  const trace::TraceDiff worse = diff(a, b);
  CHECK(worse.verdict == DiffVerdict::worse);
  REQUIRE(worse.steps);
  CHECK(*worse.steps->low < 1.1);
  CHECK(*worse.steps->high > 1.1);
  CHECK(diff(b, a).verdict == DiffVerdict::better);
  CHECK(diff(a, b, .2).verdict == DiffVerdict::neutral);
  b.steps = 3;  // too few to tell
  CHECK(diff(a, b).verdict == DiffVerdict::inconclusive);
  CHECK_FALSE(diff(a, b).steps->ratio);
}

TEST_CASE("what differs from process to process is no difference, once two runs of each are there",
          "[trace]") {
  const auto run = [](double step_us, unsigned seed) {
    Run r;
    r.step_us = step_us;
    r.seed = seed;
    return text_of(r);
  };
  // Each process has a speed of its own, between 95 and 115 us.
  const trace::TraceDiff one = trace::diff_traces(side({run(95, 1)}), side({run(110, 2)}), .02);
  CHECK(one.verdict == DiffVerdict::worse);
  REQUIRE_FALSE(one.notes.empty());
  CHECK(one.notes.back().find("from process to process") != std::string::npos);
  const trace::TraceDiff some =
      trace::diff_traces(side({run(95, 1), run(115, 2), run(104, 3)}),
                         side({run(110, 4), run(96, 5), run(113, 6)}), .02);
  CHECK(some.verdict == DiffVerdict::inconclusive);
  CHECK(some.steps->unit == "run");
  const trace::TraceDiff twice =
      trace::diff_traces(side({run(95, 1), run(97, 2), run(96, 3)}),
                         side({run(190, 4), run(195, 5), run(188, 6)}), .02);
  CHECK(twice.verdict == DiffVerdict::worse);
}

TEST_CASE("a drift within a run widens its interval", "[trace]") {
  CHECK(trace::batch_means({3, 1, 2}) == std::vector<std::int64_t>{3, 1, 2});
  std::vector<std::int64_t> series;
  for (int i = 0; i < 20; ++i) series.push_back(i < 10 ? 100 : 200);
  CHECK(trace::batch_means(series) == std::vector<std::int64_t>{100, 100, 200, 200});
  CHECK(trace::batch_means(std::vector<std::int64_t>(100'000, 7)) ==
        std::vector<std::int64_t>(10, 7));
}

TEST_CASE("more calls of the same program change no mean", "[trace]") {
  // Calls of 2 and 100 us in turn: 14 are too few for batches, 16 are enough, 28 are.
  const auto in_turn = [](int calls) {
    JsonTrace t;
    for (int i = 0; i < calls; ++i)
      t.launched("bimodal", i + 1, 200 * i, 200 * i + 5, i % 2 == 0 ? 2 : 100);
    return side({t.text()});
  };
  for (const auto& [calls_a, calls_b] : {std::pair(14, 16), std::pair(16, 14), std::pair(14, 28),
                                         std::pair(16, 28), std::pair(28, 50)}) {
    CAPTURE(calls_a, calls_b);
    const trace::TraceDiff d = trace::diff_traces(in_turn(calls_a), in_turn(calls_b), .02);
    CHECK(d.verdict != DiffVerdict::worse);
    CHECK(d.verdict != DiffVerdict::better);
    CHECK(*row(d.kernels, "bimodal").ratio == Approx(1));
  }
}

TEST_CASE("recordings of one process and of two are not compared", "[trace]") {
  std::vector<trace::Trace> ranks = side({text_of({}), text_of({})});
  ranks[0].source.rank = 0;
  ranks[1].source.rank = 1;
  std::vector<trace::Trace> both;
  both.push_back(trace::merge_traces(std::move(ranks)));
  const trace::TraceDiff d = trace::diff_traces(side({text_of({})}), both, .02);
  CHECK(d.verdict == DiffVerdict::not_comparable);
  REQUIRE_FALSE(d.reasons.empty());
  CHECK(d.reasons.front() == "operations of 1 and 2 processes were recorded");
}

namespace {

/// Calls of kernels without steps: how often each shape of "gemm" runs, and what takes 1.3 times.
struct Calls {
  int small = 40, large = 40;
  std::string slower;
  unsigned seed = 1;
};

trace::Trace calls_of(const Calls& calls) {
  std::mt19937 random(calls.seed);
  std::normal_distribution<double> noise(1, .005);
  JsonTrace t;
  double at = 0;
  int correlation = 0;
  const auto add = [&](const std::string& name, int grid, double us) {
    us *= noise(random) * (calls.slower == name ? 1.3 : 1);
    const std::string id = std::to_string(++correlation);
    t.call("cudaLaunchKernel", correlation, at, 1);
    t.event("kernel", name, std::to_string(at + 2), std::to_string(us),
            R"(, "args": {"device": 0, "stream": 7, "correlation": )" + id + R"(, "grid": [)" +
                std::to_string(grid) + R"(, 1, 1], "block": [128, 1, 1]})");
    at += us + 5;
  };
  for (int i = 0; i < calls.small; ++i) add("gemm", 8, 10);
  for (int i = 0; i < calls.large; ++i) add("gemm", 64, 100);
  for (int i = 0; i < 9; ++i) add("mixed", 8, i % 3 == 0 ? 400 : 20);  // layers of two sizes
  return t.read();
}

trace::TraceDiff diff_calls(const Calls& a, const Calls& b) {
  std::vector<trace::Trace> in_a, in_b;
  in_a.push_back(calls_of(a));
  in_b.push_back(calls_of(b));
  return trace::diff_traces(in_a, in_b, .02);
}

}  // namespace

TEST_CASE("another mix of launch shapes is no change of a kernel", "[trace]") {
  Calls a, b;
  b.small = 60;
  b.large = 35;
  b.seed = 2;
  const trace::TraceDiff d = diff_calls(a, b);
  CHECK(d.verdict == DiffVerdict::neutral);
  CHECK(row(d.kernels, "gemm <<<8,1,1; 128,1,1>>>").count_b == 60);
}

TEST_CASE("a kernel that takes 1.3 times is named, also where its calls differ", "[trace]") {
  int named = 0, alarms = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    Calls a, b;
    a.seed = 100 + seed;
    b.seed = 200 + seed;
    for (const trace::DiffRow& r : diff_calls(a, b).kernels)
      alarms += r.verdict == DiffVerdict::worse || r.verdict == DiffVerdict::better;
    b.slower = "mixed";
    const trace::TraceDiff slower = diff_calls(a, b);
    named += slower.verdict == DiffVerdict::worse &&
             row(slower.kernels, "mixed <<<8,1,1; 128,1,1>>>").verdict == DiffVerdict::worse;
  }
  CHECK(named == 20);
  CHECK(alarms <= 1);
}

TEST_CASE("other GPUs, other work and other clocks are not compared, and it says why", "[trace]") {
  const auto reason = [](const Run& b) {
    const trace::TraceDiff d = diff(Run{}, b);
    CHECK(d.verdict == DiffVerdict::not_comparable);
    return d.reasons.empty() ? "" : d.reasons.front();
  };
  Run b;
  b.gpu = "NVIDIA A100";
  CHECK(reason(b).find("GPUs differ") != std::string::npos);
  b = {};
  b.clock_mhz = 1500;
  CHECK(reason(b).find("1980 and 1500 MHz") != std::string::npos);
  b = {};
  b.throttle = 4;
  CHECK(reason(b).find("held back") != std::string::npos);
  const trace::TraceDiff nothing =
      trace::diff_traces(side({text_of({})}), side({JsonTrace().text()}), .02);
  CHECK(nothing.reasons.at(0).find("no GPU operation") != std::string::npos);
  // Without steps other kernels are other work; with steps they may have been replaced.
  const auto kernels = [](const char* name) {
    JsonTrace t;
    for (int i = 0; i < 9; ++i) t.kernel(name, i + 1, i, .5);
    return side({t.text()});
  };
  CHECK(trace::diff_traces(kernels("x"), kernels("y"), .02).verdict == DiffVerdict::not_comparable);
  b = {};
  b.kernel = "fused_kernel";
  const trace::TraceDiff replaced = diff(Run{}, b);
  CHECK(replaced.verdict == DiffVerdict::neutral);
  CHECK(row(replaced.kernels, "fused_kernel").count_a == 0);
}

TEST_CASE("trace diff prints what differs, and its exit code says which way", "[trace]") {
  const Folder folder;
  Run slow;
  slow.step_us = 120;
  slow.kernel_us = 60;
  slow.seed = 3;
  Run other;
  other.gpu = "NVIDIA A100";
  folder.write("a.json", text_of({}));
  folder.write("slow.json", text_of(slow));
  folder.write("other.json", text_of(other));
  CHECK(nsatune(folder, "trace diff a.json a.json").exit_code == 0);
  const Result worse = nsatune(folder, "trace diff a.json slow.json");
  CHECK(worse.exit_code == 1);
  CHECK(worse.out.find("verdict: worse") != std::string::npos);
  CHECK(worse.out.find("flash_fwd_kernel") != std::string::npos);
  CHECK(nsatune(folder, "trace diff slow.json a.json").exit_code == 0);
  CHECK(nsatune(folder, "trace diff a.json other.json").exit_code == 3);
  CHECK(nsatune(folder, "trace diff a.json absent.json").exit_code == 2);
  Result json = nsatune(folder, "trace diff a.json slow.json --json");
  CHECK(json.exit_code == 1);
  json.exit_code = 0;
  CHECK(json_of(json, "trace_diff")["verdict"] == "worse");
}

TEST_CASE("folders of ranks are compared rank by rank, and the slowest decides", "[trace]") {
  const Folder folder;
  const auto job = [&](const std::string& name, std::initializer_list<double> step_us,
                       std::int64_t first_rank = 0) {
    std::filesystem::create_directory(folder.file(name));
    std::int64_t rank = first_rank;
    for (const double us : step_us) {
      Run run;
      run.step_us = us;
      run.seed = static_cast<unsigned>(10 * us) + static_cast<unsigned>(rank);
      const std::string text = text_of(run);
      folder.write(name + "/rank" + std::to_string(rank) + ".json",
                   R"({"distributedInfo": {"rank": )" + std::to_string(rank) +
                       R"(, "world_size": 2},)" + text.substr(1));
      ++rank;
    }
  };
  job("before", {100, 100});
  job("same", {100.2, 100.1});
  job("straggles", {100.1, 120});
  job("faster", {80, 80.1});
  job("mixed", {80, 120});
  job("one", {100});
  job("other", {100}, 1);
  const auto diff = [&](const std::string& arguments) {
    Result result = nsatune(folder, "trace diff --json " + arguments);
    result.exit_code = 0;
    return json_of(result, "trace_diff");
  };
  CHECK(diff("before same")["verdict"] == "neutral");
  CHECK(diff("before faster")["verdict"] == "better");
  CHECK(diff("before mixed")["verdict"] == "inconclusive");
  const Json worse = diff("before straggles");
  CHECK(worse["verdict"] == "worse");
  CHECK(worse["rank"] == 1);  // whose tables these are
  CHECK(worse["path_b"] == "straggles");
  REQUIRE(worse["ranks"].size() == 2);
  CHECK(worse["ranks"][0]["verdict"] == "neutral");
  CHECK(worse["ranks"][1]["steps"] == worse["steps"]);
  CHECK(nsatune(folder, "trace diff before straggles").exit_code == 1);
  const std::string text = nsatune(folder, "trace diff before straggles").out;
  CHECK(text.find("below: rank 1, which changed most") != std::string::npos);
  // Two runs of each side, by rank too.
  CHECK(diff("before straggles --more-a same --more-b straggles")["ranks"][1]["steps"]["unit"] ==
        "run");
  // Other ranks are another job; a folder of one trace is that trace.
  const Json other = diff("before one");
  CHECK(other["verdict"] == "not_comparable");
  CHECK(other["reasons"][0] == "before holds ranks 0, 1, and one rank 0");
  CHECK(diff("one other")["verdict"] == "neutral");
  // Without ranks nothing says which is which.
  std::filesystem::create_directory(folder.file("unnamed"));
  folder.write("unnamed/a.json", text_of({}));
  folder.write("unnamed/b.json", text_of({}));
  const Result unnamed = nsatune(folder, "trace diff before unnamed");
  CHECK(unnamed.exit_code == 2);
  CHECK(unnamed.err.find("does not say of which rank it is") != std::string::npos);
}

TEST_CASE("the last step, which no other one ends, is no sample of a step", "[trace]") {
  // 100 us from begin to begin, and 50 us in the last one; noise of less than 1 %.
  const auto text = [](int steps, double kernel_us) {
    JsonTrace t;
    for (int i = 0; i < steps; ++i) {
      const double at = 100.0 * i + 0.1 * (i % 3);
      t.range("ProfilerStep#" + std::to_string(i), at, 50);
      t.launched("kernel", i + 1, at + 2, at + 5, kernel_us);
    }
    return t.text();
  };
  const trace::TraceDiff same =
      trace::diff_traces(side({text(5, 40), text(5, 40)}), side({text(20, 40), text(20, 40)}), .02);
  CHECK(same.verdict == DiffVerdict::neutral);
  const trace::TraceDiff slower = trace::diff_traces(side({text(8, 20)}), side({text(8, 26)}), .02);
  CHECK(slower.verdict == DiffVerdict::neutral);
  REQUIRE(slower.notes.size() > 0);
  CHECK(slower.notes.back().find("slower without a slower step: kernel") != std::string::npos);
  // It is said which step is left out, and the table holds sums over the others.
  REQUIRE(slower.steps);
  CHECK(slower.steps->count_a == 7);
  const auto note_of = [](const trace::TraceDiff& diff) {
    for (const std::string& note : diff.notes)
      if (note.starts_with("the last step")) return note.substr(0, note.find(':'));
    return std::string();
  };
  CHECK(note_of(slower) == "the last step is not compared");
  JsonTrace whole;
  for (int i = 0; i < 7; ++i) {
    whole.range("iteration " + std::to_string(i), 100.0 * i, 100);
    whole.launched("kernel", i + 1, 100.0 * i + 2, 100.0 * i + 5, 26);
  }
  CHECK(note_of(trace::diff_traces(side({text(8, 20)}), side({whole.text()}), .02)) ==
        "the last step of A is not compared");
  CHECK(note_of(trace::diff_traces(side({whole.text()}), side({whole.text()}), .02)).empty());
  const Folder folder;
  folder.write("a.json", text(8, 20));
  folder.write("b.json", text(8, 26));
  const std::string table = nsatune(folder, "trace diff a.json b.json").out;
  INFO(table);
  CHECK(table.find("total A") != std::string::npos);
  CHECK(table.find("steps A") != std::string::npos);
  CHECK(table.find("by step") != std::string::npos);
}

}  // namespace nsa::test
