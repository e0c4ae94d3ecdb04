// At which line of the program the host was, by samples of Python's stack.
#include "nsa/trace/python_lines.hpp"

#include "../cli/program.hpp"
#include "catch.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/trace/filter.hpp"
#include "nsa/trace/merge.hpp"
#include "nsa/trace/read.hpp"
#include "nsa/trace/summary_json.hpp"
#include "nsa/trace/write.hpp"
#include "spool_builder.hpp"
#include "text.hpp"
#include "traces.hpp"

namespace nsa::test {
namespace {

trace::Trace read(const SpoolBuilder& spool) {
  return trace::read_spool_trace(spool.bytes(), "t.nsaspool");
}

/// "train.py:31 (load) 4"
std::string text(const trace::PythonLine& line) {
  return trace::line_text(line.file, line.line, line.function) + " " + std::to_string(line.samples);
}

/// Kernels at 1000 to 1100, 3000 to 3100 and 3500 to 3600. The host loads data between the first
/// two, and computes something before the third one.
SpoolBuilder loading() {
  SpoolBuilder spool;
  const std::uint32_t main = spool.python_frame("/home/me/train.py", 40, "<module>");
  const std::uint32_t load = spool.python_frame("/home/me/data/load.py", 31, "load", main);
  const std::uint32_t wait =
      spool.python_frame("/usr/lib/python3.12/threading.py", 331, "Condition.wait", load);
  const std::uint32_t norm = spool.python_frame("/home/me/train.py", 44, "norm", main);
  spool.python_sample(load, 1150).python_sample(wait, 1300, 15);  // up to 2700
  spool.python_sample(norm, 3150, 2);                             // 3150 and 3250
  spool.python_sample(main, 3520);                                // while the GPU works
  spool.launched("a", 1, 900, 1000, 100);
  spool.launched("b", 2, 2850, 3000, 100);
  spool.launched("c", 3, 3400, 3500, 100);
  return spool.totals(3, 3);
}

}  // namespace

TEST_CASE("idle time is told by the lines of the program at which the host was", "[trace]") {
  const trace::Summary s = trace::summarize(read(loading()));
  REQUIRE(s.gaps);
  CHECK(s.gaps->samples == 18);
  REQUIRE(s.gaps->lines.size() == 2);
  const trace::GapLine& load = s.gaps->lines[0];
  CHECK(text(load.at) == "data/load.py:31 (load) 16");  // not the line of Python's own file
  CHECK(load.at.file == "/home/me/data/load.py");
  CHECK(load.at.within == "python3.12/threading.py:331 (Condition.wait)");
  CHECK(load.idle_class == "host_wait");
  CHECK(text(s.gaps->lines[1].at) == "me/train.py:44 (norm) 2");
  CHECK(s.gaps->lines[1].at.within.empty());
  REQUIRE(s.gaps->longest.size() == 2);
  CHECK(s.gaps->longest[0].samples == 16);
  CHECK(text(s.gaps->longest[0].lines.at(0)) == "data/load.py:31 (load) 16");
  CHECK(text(s.gaps->longest[1].lines.at(0)) == "me/train.py:44 (norm) 2");
  const trace::GapCause& nothing = s.gaps->causes.front();
  CHECK(nothing.what == "nothing_recorded");
  CHECK(nothing.samples == 18);
  CHECK(text(nothing.lines.at(0)) == "data/load.py:31 (load) 16");
}

TEST_CASE("the critical path names the lines of the host, and what they cost at least", "[trace]") {
  const trace::Summary s = trace::summarize(read(loading()));
  REQUIRE(s.critical_path);
  CHECK(s.critical_path->samples >= 17);
  CHECK(text(s.critical_path->lines.at(0)) == "data/load.py:31 (load) 16");
  std::map<std::string, std::int64_t> gains;
  for (const trace::WhatIf& one : s.critical_path->what_if)
    if (one.what == "python_line") {
      gains[one.name] = one.gain_ns;
      CHECK(one.at_least);
    }
  // The host's time between two calls, 950 to 2850 and 2900 to 3400.
  CHECK(gains.at("data/load.py:31 (load)") == 1900);
  CHECK(gains.at("me/train.py:44 (norm)") == 400);  // the stream is at work for 100 of it
}

TEST_CASE("samples of Python come back from Chrome JSON, merged and in part too", "[trace]") {
  const Folder folder;
  const trace::Trace source = read(loading());
  trace::write_chrome_trace(source, folder.file("t.json"));
  const trace::Trace back = trace::read_trace(folder.file("t.json"));
  REQUIRE(back.python_samples.size() == 4);
  CHECK(back.python_frames.size() == source.python_frames.size());
  const auto lines_of = [](const trace::Trace& t) {
    std::vector<std::string> out;
    const trace::Summary summary = trace::summarize(t);
    for (const trace::GapLine& line : summary.gaps.value().lines)
      out.push_back(text(line.at) + line.at.within + line.idle_class);
    return out;
  };
  CHECK(lines_of(back) == lines_of(source));

  SpoolBuilder other;
  const std::uint32_t there = other.python_frame("other.py", 7, "g");
  other.python_sample(there, 1500).launched("d", 1, 900, 1000, 100);
  other.launched("e", 2, 2850, 3000, 100).totals(2, 2);
  std::vector<trace::Trace> both;
  both.push_back(trace::read_trace(folder.file("t.json")));
  both.push_back(read(other));
  const trace::Trace merged = trace::merge_traces(std::move(both));
  REQUIRE(merged.python_samples.size() == 5);
  std::map<std::string, int> places;
  for (const trace::PythonSample& sample : merged.python_samples)
    ++places[trace::frame_text(merged, sample.frame)];
  CHECK(places == std::map<std::string, int>{{"data/load.py:31 (load)", 1},
                                             {"python3.12/threading.py:331 (Condition.wait)", 1},
                                             {"me/train.py:44 (norm)", 1},
                                             {"me/train.py:40 (<module>)", 1},
                                             {"other.py:7 (g)", 1}});

  trace::Trace part = read(loading());
  trace::Filter filter;
  filter.time_ns = {{2000, 4000}};  // from 900 on
  trace::keep(filter, part);
  CHECK(part.python_samples.size() == 2);
}

TEST_CASE("a trace without samples says nothing of lines", "[trace]") {
  SpoolBuilder spool;
  spool.launched("a", 1, 900, 1000, 100).launched("b", 2, 2850, 3000, 100).totals(2, 2);
  const std::string json = trace::to_document(trace::summarize(read(spool))).dump();
  CHECK(json.find("\"lines\"") == std::string::npos);
  CHECK(json.find("\"samples\"") == std::string::npos);
}

TEST_CASE("what a spool has lost of Python's stacks is left out, and odd times are refused",
          "[trace]") {
  SpoolBuilder spool;
  spool::SpoolPythonFrame frame;
  frame.line = 5;
  frame.id = frame.caller = 7;  // not its own caller either
  spool.append(frame);
  frame.id = 9;
  spool.append(frame);
  spool.python_sample(9, 100).python_sample(8, 200).python_sample(0, 300);
  const trace::Trace t = read(spool);
  REQUIRE(t.python_frames.size() == 3);
  CHECK(t.python_frames[1].caller == 0);
  CHECK(t.python_frames[2].caller == 1);
  REQUIRE(t.python_samples.size() == 1);
  CHECK(t.python_samples[0].frame == 2);

  for (const auto& [count, period] : {std::pair{0u, std::int64_t{100}},
                                      {2u, std::int64_t{0}},
                                      {UINT32_MAX, std::int64_t{1} << 60}}) {
    SpoolBuilder odd;
    const std::uint32_t there = odd.python_frame("a.py", 1, "f");
    odd.python_sample(there, 100, count, period);
    CHECK_THROWS_AS(read(odd), InputError);
  }
}

TEST_CASE("files of packages and of Python itself are not the program's own", "[trace]") {
  for (const char* library :
       {"/usr/lib/python3/dist-packages/yaml/loader.py", "/opt/conda/lib/python3.11/queue.py",
        "/venv/lib/python3.12/site-packages/torch/nn/modules/module.py",
        "<frozen importlib._bootstrap>"})
    CHECK(trace::is_library_file(library));
  for (const char* own : {"train.py", "/home/me/train.py", "<string>", "/work/lib/python/a.py"})
    CHECK_FALSE(trace::is_library_file(own));
  CHECK(trace::line_text("a.py", 3, "") == "a.py:3");
  CHECK(trace::line_text("/a.py", 3, "f") == "a.py:3 (f)");
}

TEST_CASE("text and doctor name the line of the host", "[trace]") {
  const Folder folder;
  SpoolBuilder spool;  // 40 ms of which the host is 30 at one line
  const std::uint32_t load = spool.python_frame("/home/me/load.py", 31, "load");
  spool.python_sample(load, 1'200'000, 30, 1'000'000);
  spool.launched("a", 1, 900'000, 1'000'000, 100'000);
  spool.launched("b", 2, 39'000'000, 40'000'000, 100'000).totals(2, 2);
  folder.write("t.nsaspool", spool.bytes());
  const Result summary = nsatune(folder, "trace summary t.nsaspool");
  CHECK(summary.exit_code == 0);
  CHECK(contains(summary.out, "Idle time by lines of Python"));
  CHECK(contains(summary.out, "me/load.py:31 (load) 30 of 30"));
  CHECK(contains(summary.out, "what the host does at me/load.py:31 (load)"));
  trace::write_chrome_trace(read(spool), folder.file("t.json"));
  const Result doctor = nsatune(folder, "doctor t.json");
  json_of(nsatune(folder, "trace summary t.nsaspool --json"), "trace_summary");
  CHECK(contains(doctor.out, "idle while the host was at me/load.py:31 (load), 30 of 30 samples"));
}

}  // namespace nsa::test
