// check --format: each of them holds what was found, and no name of a series acts in it.
#include <algorithm>
#include <array>
#include <set>

#include "catch.hpp"
#include "history.hpp"
#include "program.hpp"

namespace nsa::test {
namespace {

const std::string kHostile = R"x("=cmd|' /C calc'!A0 <script>`@you`</script> & ""q"" | [x](y)")x";

std::string format_of(const Folder& folder, const std::string& format) {
  const Result result = nsatune(folder, "check --csv h.csv --format " + format + " -o out");
  INFO(result.err);
  CHECK(result.exit_code == 1);
  return read_text_file(folder.file("out"));
}

void write_history(const Folder& folder, const std::string& name) {
  folder.write("h.csv", history_csv({{name, 100, 1.05, 30}, {"same"}}, 36));
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Elements and attributes of an XML text without text nodes; CHECKs that all are closed.
std::set<std::string> names_of_xml(const std::string& xml) {
  std::set<std::string> names;
  std::vector<std::string> open;
  for (std::size_t at = xml.find("?>"); (at = xml.find('<', at)) != std::string::npos;) {
    const std::size_t end = xml.find('>', at);
    std::string tag = xml.substr(at + 1, end - at - 1);
    at = end;
    if (tag[0] == '/') {
      REQUIRE_FALSE(open.empty());
      CHECK(open.back() == tag.substr(1));
      open.pop_back();
      continue;
    }
    const std::string element = tag.substr(0, tag.find_first_of(" /"));
    names.insert(element);
    for (std::size_t quote = tag.find('"'); quote != std::string::npos;) {
      const std::size_t name = tag.rfind(' ', quote) + 1;
      names.insert(element + "." + tag.substr(name, quote - 1 - name));
      quote = tag.find('"', tag.find('"', quote + 1) + 1);
    }
    if (tag.back() != '/') open.push_back(element);
  }
  CHECK(open.empty());
  return names;
}

}  // namespace

TEST_CASE("text names the change, its size, night and commits, without colours", "[check]") {
  const Folder folder;
  write_history(folder, "slow");
  const Result result = nsatune(folder, "check --csv h.csv");
  CHECK(holds(result.out, "1 confirmed, 1 ok"));
  CHECK(holds(result.out, "  since 30, row 91\n    +"));
  CHECK(holds(result.out, "%)  slow\n"));
  CHECK(holds(result.out, "1 series has regressed (exit 1)"));
  CHECK_FALSE(holds(result.out, "\033"));
  CHECK(holds(nsatune(folder, "check --csv h.csv --color always").out, "\033[31m"));
}

TEST_CASE("JUnit has the elements and attributes of Jenkins' schema alone", "[check]") {
  const Folder folder;
  write_history(folder, kHostile);
  const std::string xml = format_of(folder, "junit");
  CHECK(holds(xml, "tests=\"2\" failures=\"1\" errors=\"0\""));
  CHECK(holds(xml, "&lt;script&gt;`@you`&lt;/script&gt; &amp; &quot;q&quot;"));
  const std::set<std::string> known{
      "testsuites",         "testsuites.name",    "testsuites.tests",  "testsuites.failures",
      "testsuites.errors",  "testsuite",          "testsuite.name",    "testsuite.tests",
      "testsuite.failures", "testsuite.errors",   "testsuite.skipped", "testcase",
      "testcase.name",      "testcase.classname", "failure",           "failure.type",
      "failure.message"};
  CHECK(names_of_xml(xml) == known);
}

TEST_CASE("no cell of the CSV format begins like a formula", "[check]") {
  const Folder folder;
  write_history(folder, kHostile);
  const std::string csv = format_of(folder, "csv");
  CHECK(holds(csv, "\n\"'=cmd|' /C calc'!A0"));
  CHECK(holds(csv, ",confirmed,true,36,90,30,up,1.0"));
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 3);
}

TEST_CASE("Markdown and comment make neither markup nor mentions of a name", "[check]") {
  const Folder folder;
  write_history(folder, kHostile);
  for (const std::string format : {"markdown", "comment"}) {
    const std::string text = format_of(folder, format);
    CHECK(holds(text, "1 series has regressed"));
    CHECK_FALSE(holds(text, "<script>"));
    CHECK_FALSE(holds(text, "@you"));
    CHECK_FALSE(holds(text, "[x]"));
    CHECK(holds(text, "<code>&#61;cmd&#124;"));
  }
}

TEST_CASE("Markdown stays below 1 MiB and a comment below 65,536 characters", "[check]") {
  const Folder folder;
  std::vector<Column> columns;
  for (int i = 0; i < 3000; ++i)
    columns.push_back({std::string(90, '_') + std::to_string(i), 100, 1.3, 10});
  folder.write("h.csv", history_csv(columns, 16, 1));
  const std::string markdown = format_of(folder, "markdown");
  CHECK(markdown.size() < (1 << 20));
  CHECK(markdown.size() > (1 << 19));
  CHECK(holds(markdown, "more; `--json` lists all."));
  CHECK(holds(markdown, "</details>"));
  CHECK(format_of(folder, "comment").size() < 65'536);
}

TEST_CASE("an output file takes the format, stdout the text or the JSON", "[check]") {
  const Folder folder;
  write_history(folder, "slow");
  const Result both = nsatune(folder, "check --csv h.csv --json --format junit -o out.xml");
  CHECK(json_of(both, "check")["exit_code"] == 1);
  CHECK(read_text_file(folder.file("out.xml")).starts_with("<?xml"));
  CHECK(nsatune(folder, "check --csv h.csv --json --format junit").exit_code == 2);
  const std::string before = read_text_file(folder.file("h.csv"));
  CHECK(nsatune(folder, "check --csv h.csv -o h.csv").exit_code == 2);
  CHECK(read_text_file(folder.file("h.csv")) == before);
}

}  // namespace nsa::test
