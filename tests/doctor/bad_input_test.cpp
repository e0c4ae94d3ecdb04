// `nsatune doctor` over input that is damaged, hostile, or larger than it should be.
#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include "catch.hpp"
#include "fixtures.hpp"

namespace nsa::test {
namespace {

const std::string kSlow = "WARNING: Using slow _sdpa_over_ranges\n";

/// No control character but the line feed, as bytes and as UTF-8.
bool printable_only(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool c1 =
        c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if ((c < 0x20 && c != '\n') || c == 0x7f || c1) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("bad input is one line with the place, exit 2, and nothing on stdout", "[doctor]") {
  const Folder folder;
  folder.write("empty", "");
  std::filesystem::create_directory(folder.file("hollow"));  // a folder without a file
  folder.write("binary", std::string("\x7f"
                                     "ELF\0\0\0",
                                     7));
  folder.write("bad.yaml", "model:\n  dim: [1, 2\n");
  folder.write("two.yaml", "model: {dim: 1}\n---\nmodel: {dim: 2}\n");
  folder.write("endless.yaml", ", model: {dim: 1}\n");  // LoadAll of yaml-cpp never comes back
  folder.write("deep.yaml", "model: " + std::string(5000, '[') + "\n");
  folder.write("bomb.yaml",
               "a: &a {x: 1, y: 2}\nb: &b {a1: *a, a2: *a, a3: *a, a4: *a, a5: *a, a6: *a}\n"
               "c: &c {a1: *b, a2: *b, a3: *b, a4: *b, a5: *b, a6: *b}\n"
               "d: &d {a1: *c, a2: *c, a3: *c, a4: *c, a5: *c, a6: *c}\n"
               "e: &e {a1: *d, a2: *d, a3: *d, a4: *d, a5: *d, a6: *d}\n"
               "f: &f {a1: *e, a2: *e, a3: *e, a4: *e, a5: *e, a6: *e}\n"
               "g: &g {a1: *f, a2: *f, a3: *f, a4: *f, a5: *f, a6: *f}\n"
               "model: {a1: *g, a2: *g, a3: *g, a4: *g, a5: *g, a6: *g}\n");
  folder.write("cut.jsonl",
               "{\"msg\": \"beat\", \"ts\": 1}\n{\"msg\": \"be\n{\"msg\": \"beat\"}\n");
  folder.write("types.jsonl", "{\"msg\": \"progress\", \"toks_per_s\": \"many\"}\n");
  folder.write("deep.jsonl", "{\"msg\": \"a\"}\n{\"a\":" + std::string(9000, '[') + "\n{}\n");
  folder.write("list.jsonl", "{\"msg\": \"beat\"}\n[1]\n");
  folder.write("load.jsonl", "{\"nsatune_command\": 1, \"seconds\": -3}\n");
  folder.write("trace.json", "{\"traceEvents\": [{\"ph\": \"X\",");
  folder.write("rest.json", "\"X\", \"cat\": \"kernel\"}]}");  // its beginning is missing
  folder.write("diary.sqlite", "SQLite format 3" + std::string(300, '\0'));
  folder.write("words", "no variables here\n");
  for (const char* arguments : {"absent.log",
                                "hollow",
                                "empty",
                                "binary",
                                "bad.yaml",
                                "two.yaml",
                                "deep.yaml",
                                "bomb.yaml",
                                "cut.jsonl",
                                "types.jsonl",
                                "deep.jsonl",
                                "list.jsonl",
                                "load.jsonl",
                                "trace.json",
                                "rest.json",
                                "diary.sqlite",
                                "--env-file words",
                                "--log empty",
                                "--config words",
                                "--config .",
                                "--for 3s empty",
                                "--for soon -- true",
                                "--record x",
                                "--markdown",
                                "--db absent.sqlite",
                                "-- ./no_such_program",
                                "--nonsense"}) {
    for (const char* flag : {"", "--json "}) {
      CAPTURE(arguments, flag);
      const Result r = nsatune(folder, std::string("doctor ") + flag + arguments);
      INFO(r.err);
      CHECK(r.exit_code == 2);
      CHECK(r.out.empty());
      CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
      CHECK(printable_only(r.err));
    }
  }
}

TEST_CASE("the line of a bad heartbeat is named; one that is being written is left out",
          "[doctor]") {
  const Folder folder;
  folder.write("h.jsonl", "{\"msg\": \"beat\"}\n{\"msg\": \"progress\", \"step\": []}\n");
  CHECK(nsatune(folder, "doctor h.jsonl").err.find("h.jsonl:2: step") != std::string::npos);
  folder.write("h.jsonl", "{\"msg\": \"beat\"}\n{\"msg\": \"prog");
  CHECK(nsatune(folder, "doctor h.jsonl").exit_code == 0);
}

TEST_CASE("a heartbeat is read where its loss is NaN, and where it is larger than 64 MiB",
          "[doctor]") {
  const Folder folder;
  folder.write("nan.jsonl", R"({"msg": "progress", "toks_per_s": 9200, "loss": NaN, "note": "NaN"})"
                            "\n"
                            R"({"msg": "progress", "toks_per_s": -Infinity})"
                            "\n"
                            R"({"msg": "beat", "slow_path_calls": 3})"
                            "\n");
  CHECK(rules_of(json_of(nsatune(folder, "doctor nan.jsonl --json"), "doctor")) ==
        std::set<std::string>{"heartbeat_slow_path"});
  folder.write("bad.jsonl", "{\"msg\": \"beat\"}\n{\"loss\": NaNa}\n{}\n");
  CHECK(nsatune(folder, "doctor bad.jsonl").err.find("bad.jsonl:2: no JSON") != std::string::npos);
  const std::string padding(60'000, 'x');
  std::string large;
  for (int i = 0; i < 1200; ++i) large += "{\"msg\": \"beat\", \"pad\": \"" + padding + "\"}\n";
  folder.write("large.jsonl", large + "{\"msg\": \"beat\", \"slow_path_calls\": 3}\n");
  const Json document = json_of(nsatune(folder, "doctor large.jsonl --json"), "doctor");
  REQUIRE(rules_of(document) == std::set<std::string>{"heartbeat_slow_path"});
  CHECK(document["findings"][0]["evidence"][0]["line"] == 1201);
}

TEST_CASE("memory that no machine has is no evidence", "[doctor]") {
  const Folder folder;
  for (const char* sizes : {R"("gpu_mem_alloc": -5, "gpu_mem_reserved": 8000)",
                            R"("gpu_mem_alloc": 5, "gpu_mem_reserved": 1e308)"}) {
    CAPTURE(sizes);
    folder.write("h.jsonl", std::string("{\"msg\": \"beat\", ") + sizes + "}\n");
    CHECK(nsatune(folder, "doctor h.jsonl").exit_code == 0);
  }
}

TEST_CASE("a pipe is not recognised by content, which would take its first lines", "[doctor]") {
  const Folder folder;
  folder.write("run.log", kSlow + "loss=3\n");
  REQUIRE(mkfifo(folder.file("pipe").c_str(), 0600) == 0);
  const Result r = nsatune(folder, "doctor pipe");
  CHECK(r.exit_code == 2);
  CHECK(r.err.find("pipe: is not a regular file") != std::string::npos);
  CHECK(r.err.find("--log") != std::string::npos);
  CHECK(nsatune(folder, "doctor --log /dev/stdin <run.log").exit_code == 1);
}

TEST_CASE("control characters of hostile files never reach the terminal", "[doctor]") {
  const Folder folder;
  const std::string evil =
      "\x1b[31m\x07\xc2\x9b"
      "2J\x7f\r";
  folder.write("run.log", "step " + evil + " Using slow _sdpa_over_ranges " + evil + "\xff\n");
  folder.write("t.yaml", "runtime:\n  gradient_checkpointing: true\n  precision: \"fp32\"\n");
  folder.write("h.jsonl", R"({"msg": "progress", "engaged": [{"stage": "attend_selected",)"
                          R"( "variant": "ranges", "calls": 3}], "fb_\u001b[2J\u009b": 3})"
                          "\n");
  folder.write("env", "NSA_\xc2\x9bX=1\nNSA_FORCE_SEL_MASK=" + evil + "\nNSA_XYZ=" + evil + "\n");
  folder.write("na\x1bme.log", kSlow);
  for (const char* flags : {"", "--json"}) {
    const Result r = nsatune(folder, std::string("doctor run.log t.yaml h.jsonl --env-file env "
                                                 "na*me.log --color never ") +
                                         flags);
    INFO(r.out);
    CHECK(r.exit_code == 1);
    CHECK(r.out.find("slow_path") != std::string::npos);
    CHECK(printable_only(r.out));
    CHECK(printable_only(r.err));
  }
}

TEST_CASE("a log with one endless line and a log of a million lines are read", "[doctor]") {
  const Folder folder;
  folder.write("endless.log", kSlow + std::string(40'000'000, 'x'));
  CHECK(nsatune(folder, "doctor endless.log").exit_code == 1);
  std::string many;
  for (int i = 0; i < 1'000'000; ++i) many += "step | 9200 tok/s\n";
  folder.write("many.log", many + kSlow);
  const Json document = json_of(nsatune(folder, "doctor many.log --json"), "doctor");
  CHECK(document["findings"][0]["evidence"][0]["line"] == 1'000'001);
}

TEST_CASE("a trace that says nothing is not a trace in which all is well", "[doctor]") {
  const Folder folder;
  folder.write("empty.json", R"({"traceEvents": []})");
  folder.write("host.json", R"({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::add",
      "pid": 1, "tid": 1, "ts": 1, "dur": 1}]})");
  folder.write("run.log", kSlow);
  const Result empty = nsatune(folder, "doctor empty.json");
  CHECK(empty.exit_code == 3);
  CHECK(empty.out.find("not judged: empty.json: it holds no event") != std::string::npos);
  const Result host = nsatune(folder, "doctor host.json --json");
  CHECK(host.exit_code == 3);
  const Json not_judged = json_of(host, "doctor")["not_judged"];
  REQUIRE(not_judged.size() == 1);
  CHECK(not_judged[0]["whole"] == true);
  CHECK(not_judged[0]["reason"] == "no GPU operation was recorded");
  CHECK(nsatune(folder, "doctor empty.json run.log").exit_code == 1);  // a finding comes first
}

TEST_CASE("input that is no text, or is larger than it can be, is refused and not cut",
          "[doctor]") {
  const Folder folder;
  const Result zeros = nsatune(folder, "doctor --log /dev/zero");
  CHECK(zeros.exit_code == 2);
  CHECK(zeros.err.find("/dev/zero:1: more than 64 MiB without a line end") != std::string::npos);
  CHECK(nsatune(folder, "doctor --log /dev/null").exit_code == 2);
  CHECK(nsatune(folder, "doctor --env-file /dev/zero").err.find("16 MiB") != std::string::npos);
  CHECK(nsatune(folder, "doctor --config /dev/zero").exit_code == 2);
  folder.write("env", "NSA_FORCE_SEL_MASK=0\nPADDING=" + std::string(2 << 20, 'x') +
                          "\nCUDA_LAUNCH_BLOCKING=1\n");
  CHECK(rules_of(json_of(nsatune(folder, "doctor --env-file env --json"), "doctor"))
            .contains("launch_blocking"));  // after the first MiB
  std::string many;
  for (int i = 0; i < 10'001; ++i) many += "V" + std::to_string(i) + "=1\n";
  folder.write("env", many);
  const Result variables = nsatune(folder, "doctor --env-file env");
  CHECK(variables.exit_code == 2);
  CHECK(variables.err.find("more than 10000 variables") != std::string::npos);
  REQUIRE(mkfifo(folder.file("pipe").c_str(), 0600) == 0);
  CHECK(nsatune(folder, "doctor --config pipe").exit_code == 2);  // would wait for a writer
}

}  // namespace nsa::test
