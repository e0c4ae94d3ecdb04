// `nsatune trace summary` as a user runs it.
#include <algorithm>
#include <cstdlib>

#include "../cli/program.hpp"
#include "catch.hpp"
#include "nsa/schemas/json.hpp"
#include "traces.hpp"

namespace nsa::test {

TEST_CASE("trace summary prints tables, and with --json one document of its schema", "[trace]") {
  const Folder folder;
  folder.write("t.json", JsonTrace()
                             .range("score", 0, 5)
                             .launched("score_kernel<64>", 1, 1, 2, 3)
                             .launched("other_kernel", 2, 9, 10, 2)
                             .text());
  const Result text = nsatune(folder, "trace summary t.json --top 1");
  CHECK(text.exit_code == 0);
  CHECK(text.err.empty());
  for (const char* part :
       {"idle", "nothing launched", "score", "unattributed", "score_kernel<64>", "memory"}) {
    CAPTURE(part);
    CHECK(text.out.find(part) != std::string::npos);
  }
  CHECK(text.out.find("other_kernel") == std::string::npos);
  CHECK(text.out.find("(1 more)") != std::string::npos);
  const Json json = json_of(nsatune(folder, "trace summary t.json --json"), "trace_summary");
  CHECK(json["busy_ns"] == 5000);
  CHECK(json["stages"][0]["stage"] == "score");
}

TEST_CASE("tables say in whole sentences why a step was long and what the host did", "[trace]") {
  const Folder folder;
  JsonTrace t;
  for (int step = 0; step < 4; ++step) {
    const double at = 1000.0 * step + (step == 3 ? 500 : 0);
    t.range("ProfilerStep#" + std::to_string(step), at, step == 2 ? 1490 : 990);
    t.launched("k", step + 1, at + 10, at + 30, 200);
  }
  folder.write("t.json", t.text());
  const Result text = nsatune(folder, "trace summary t.json");
  CHECK(
      text.out.find(
          ", worst 1.50 ms (ProfilerStep#2); longer because of time before the next step 500 us") !=
      std::string::npos);
  CHECK(text.out.find("had already launched the next operation") != std::string::npos);
}

TEST_CASE("every table of the text says what it leaves out", "[trace]") {
  const Folder folder;
  JsonTrace t;
  for (int i = 0; i < 5; ++i) {
    const double at = 100.0 * i;
    const std::string n = std::to_string(i);
    t.range("annotation " + n, at, 90).range("aten::op" + n, at + 1, 20, 1, "cpu_op");
    t.range("nn.Module: M" + n + "_0", at + .5, 30, 1, "python_function");
    t.launched("kernel_" + n, i + 1, at + 2, at + 5, 50 - i);
    t.event("gpu_user_annotation", "gpu range " + n, std::to_string(at + 5), "50",
            R"(, "args": {"device": 0, "stream": 7})");
  }
  folder.write("t.json", t.text());
  const std::string text = nsatune(folder, "trace summary t.json --top 2").out;
  for (const char* table :
       {"Modules", "Operators by GPU time of their own", "Operators by host time of their own",
        "Annotations, ", "Ranges on the GPU", "Kernels by total time"}) {
    CAPTURE(table);
    const std::size_t at = text.find(std::string("\n") + table);
    REQUIRE(at != std::string::npos);
    const std::string section = text.substr(at, text.find("\n\n", at + 1) - at);
    CHECK(section.find("(3 more)") != std::string::npos);
  }
  // What is left out is summed where no time counts twice: 48 + 47 + 46 of 240 us.
  CHECK(text.find("141 us  58.8 %      3") != std::string::npos);
  const std::string all = nsatune(folder, "trace summary t.json").out;
  CHECK(all.substr(all.find("\nModules")).find(" more)") == std::string::npos);
}

TEST_CASE("operators have the inputs that took most, where they were recorded and there is room",
          "[trace]") {
  const Folder folder;
  JsonTrace t;
  for (int i = 0; i < 3; ++i) {
    const double at = 100.0 * i;
    t.op("aten::mm", at, 50,
         i == 0
             ? R"("Input Dims": [[2, 3], [3, 4], []], "Input type": ["float", "float", ""])"
             : R"("Input Dims": [[64, 32], [32, 16], []], "Input type": ["float", "float", ""])");
    t.launched("gemm", i + 1, at + 2, at + 5, 20);
  }
  folder.write("t.json", t.text());
  folder.write("plain.json",
               JsonTrace().range("aten::mm", 0, 5, 1, "cpu_op").launched("k", 1, 1, 2, 3).text());
  const auto summary = [&](const std::string& arguments) {
    return nsatune(folder, "trace summary " + arguments).out;
  };
  CHECK(summary("t.json").find("2x [64,32] [32,16]") != std::string::npos);
  CHECK(summary("t.json").find("of it most with") != std::string::npos);
  CHECK(summary("plain.json").find("of it most with") == std::string::npos);
}

TEST_CASE("a bad trace is one line with the place, exit 2, and nothing on stdout", "[trace]") {
  const Folder folder;
  const std::string good = JsonTrace().kernel("k", 1, 0, 1).text();
  folder.write("cut.json", good.substr(0, good.size() / 2));
  folder.write("cut.json.gz", gzipped(good).substr(0, 60));
  folder.write("name.json",
               JsonTrace().event("kernel", R"(evil\u001b[31m\nname)", "1", "-1").text());
  folder.write("no.sqlite", std::string("SQLite format 3") + std::string(200, '\0'));
  for (const char* file :
       {"cut.json", "cut.json.gz", "name.json", "no.sqlite", "absent.json", "."}) {
    for (const char* flag : {"", " --json"}) {
      CAPTURE(file, flag);
      const Result r = nsatune(folder, std::string("trace summary ") + file + flag);
      CHECK(r.exit_code == 2);
      CHECK(r.out.empty());
      CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
      CHECK(r.err.find(file) != std::string::npos);
    }
  }
  CHECK(nsatune(folder, "trace").exit_code == 2);
  CHECK(nsatune(folder, "trace summary").exit_code == 2);
  CHECK(nsatune(folder, "trace summary --help").out.find("Examples:") != std::string::npos);
}

TEST_CASE("a trace without an event is not judged: one line and exit 3", "[trace]") {
  const Folder folder;
  folder.write("list.json", "[]");
  folder.write("object.json", R"({"traceEvents": []})");
  folder.write("names.json",
               R"([{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}])");
  folder.write("full.json", JsonTrace().kernel("k", 1, 0, 1).text());
  for (const char* files : {"list.json", "object.json", "names.json", "list.json object.json"})
    for (const char* flag : {"", " --json", " --csv steps", " --name k"}) {
      CAPTURE(files, flag);
      const Result r = nsatune(folder, std::string("trace summary ") + files + flag);
      CHECK(r.exit_code == 3);
      CHECK(r.out.empty());
      CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
      CHECK(r.err.find("no event was recorded") != std::string::npos);
    }
  CHECK(nsatune(folder, "trace summary list.json full.json").exit_code == 0);
  CHECK(nsatune(folder, "trace diff list.json list.json").exit_code == 3);
  CHECK(nsatune(folder, "doctor list.json").exit_code == 3);
}

TEST_CASE("a message is UTF-8, whatever bytes it quotes", "[trace]") {
  const Folder folder;
  const Result r = nsatune(folder, "trace summary 'a\xff\xc2\x9b.json'");
  CHECK(r.exit_code == 2);
  CHECK(r.err == "nsatune: a??.json: No such file or directory\n");
}

TEST_CASE("names of a trace cannot move the cursor or break the table", "[trace]") {
  const Folder folder;
  folder.write("t.json", JsonTrace().kernel(R"(\u001b[31mred\r\n\u0007|x)", 1, 0, 1).text());
  const Result r = nsatune(folder, "trace summary t.json --color never");
  CHECK(r.exit_code == 0);
  CHECK(std::none_of(r.out.begin(), r.out.end(),
                     [](char c) { return c != '\n' && c >= 0 && c < ' '; }));
  CHECK(r.out.find("red") != std::string::npos);
}

TEST_CASE("trace convert never writes over a trace that it was given", "[trace]") {
  const Folder folder;
  const std::string text = JsonTrace().kernel("k", 1, 0, 1).text();
  for (const char* file : {"a.json", "b.json", "c.json"}) folder.write(file, text);
  for (const char* files : {"a.json a.json", "a.json ./a.json", "a.json b.json c.json"}) {
    CAPTURE(files);
    const Result r = nsatune(folder, std::string("trace convert ") + files);
    CHECK(r.exit_code == 2);
    CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
    CHECK(r.err.find("json: is ") != std::string::npos);  // one of the traces; there already
  }
  for (const char* file : {"a.json", "c.json"}) CHECK(read_text_file(folder.file(file)) == text);
  CHECK(nsatune(folder, "trace convert a.json c.json").exit_code == 0);  // one trace, by name
}

TEST_CASE("a margin that is no number is refused", "[trace]") {
  const Folder folder;
  folder.write("a.json", JsonTrace().kernel("k", 1, 0, 1).text());
  for (const char* margin : {"nan", "-1", "101", "x"}) {
    CAPTURE(margin);
    CHECK(nsatune(folder, std::string("trace diff a.json a.json --margin ") + margin).exit_code ==
          2);
  }
}

TEST_CASE("a reader that has seen enough is no full disk", "[trace]") {
  CHECK(std::system("bash -c '" NSATUNE_PROGRAM
                    " variants --json | head -c 1 >/dev/null; exit ${PIPESTATUS[0]}'") == 0);
}

}  // namespace nsa::test
