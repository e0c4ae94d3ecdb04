// ack: an entry is added, every other byte stays, and what is not right is refused with its line.
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "history.hpp"
#include "program.hpp"

namespace nsa::test {
namespace {

const std::string kEntry =
    "- series: 'a*'  # of all lengths\n  commits: ..\n  reason: known\n  until: 2030-01-01\n";

void check_refused(const std::string& yaml, int line, const std::string& word) {
  const Folder folder;
  folder.write("h.csv", history_csv({{"a"}}, 10));
  folder.write("acks.yaml", yaml);
  const std::string place = "nsatune: acks.yaml:" + std::to_string(line) + ":";
  for (const std::string command : {"check --csv h.csv --acks acks.yaml",
                                    "ack add x --commits a..b --reason r --until 2030-01-01"}) {
    const Result result = nsatune(folder, command);
    INFO(command << ": " << result.err);
    CHECK(result.exit_code == 2);
    CHECK(result.err.starts_with(place));
    CHECK(result.err.find(word) != std::string::npos);
  }
  CHECK(read_text_file(folder.file("acks.yaml")) == yaml);
}

}  // namespace

TEST_CASE("ack add appends an entry and leaves every byte before it", "[check]") {
  const Folder folder;
  const std::string before = "# known changes\n" + kEntry + "\n# end";
  folder.write("acks.yaml", before);
  const Result result = nsatune(
      folder, "ack add 'b \"*' --commits 1f2e..9a8b --reason 'exact: ties #1' --until 2031-05-06");
  INFO(result.err);
  CHECK(result.exit_code == 0);
  const std::string after = read_text_file(folder.file("acks.yaml"));
  CHECK(after.starts_with(before + "\n- series: "));
  const Json acks = json_of(nsatune(folder, "ack list --json"), "acks")["acks"];
  REQUIRE(acks.size() == 2);
  CHECK(acks[1]["series"] == "b \"*");
  CHECK(acks[1]["commits"] == "1f2e..9a8b");
  CHECK(acks[1]["reason"] == "exact: ties #1");
  CHECK(acks[1]["until"] == "2031-05-06");
}

TEST_CASE("ack add refuses what is not UTF-8 in one line, and writes nothing", "[check]") {
  const Folder folder;
  const std::string bad = "\"$(printf 'b\\377')\"";
  for (const std::string& arguments : {bad + " --reason r", "b --reason " + bad}) {
    const Result result = nsatune(folder, "ack add " + arguments + " --until 2030-01-01");
    INFO(result.err);
    CHECK(result.exit_code == 2);
    CHECK(result.err == "nsatune: ack: 'b\\xff' has bytes that are not UTF-8\n");
  }
  CHECK_FALSE(std::filesystem::exists(folder.file("acks.yaml")));
}

TEST_CASE("commands that change the acks at once lose no entry", "[check]") {
  const Folder folder;
  for (int round = 0; round < 5; ++round) {
    std::filesystem::remove(folder.file("acks.yaml"));
    std::vector<int> statuses(8, -1);
    std::vector<std::thread> commands;
    for (int i = 0; i < 8; ++i) {
      commands.emplace_back([&, i] {
        const std::string add = "cd '" + folder.path().string() +
                                "' && '" NSATUNE_PROGRAM "' ack add s" + std::to_string(i) +
                                " --reason r --until 2031-05-06 -q";
        statuses[static_cast<std::size_t>(i)] = std::system(add.c_str());
      });
    }
    for (std::thread& command : commands) command.join();
    CHECK(statuses == std::vector<int>(8, 0));
    CHECK(json_of(nsatune(folder, "ack list --json"), "acks")["acks"].size() == 8);
  }
}

TEST_CASE("ack remove takes an entry out and leaves every other byte", "[check]") {
  const Folder folder;
  const std::string head = "# known changes\n---\n", tail = "\n  # of the second\n";
  const std::string second =
      "- reason: |\n    two\n    lines\n  series: b\n  commits: a..b\n  until: 2030-01-01\n";
  const std::string third = "-\n  {series: b, commits: c..d, reason: r, until: 2030-01-01}";
  const auto file = [&](const std::string& text) { folder.write("acks.yaml", text); };
  const auto now = [&] { return read_text_file(folder.file("acks.yaml")); };
  file(head + kEntry + tail + second + third);
  CHECK(nsatune(folder, "ack remove 'a*'").exit_code == 0);
  CHECK(now() == head + tail + second + third);
  CHECK(nsatune(folder, "ack remove b --commits c..d").exit_code == 0);
  CHECK(now() == head + tail + second);
  CHECK(nsatune(folder, "ack remove b").exit_code == 0);
  CHECK(now() == head + tail);
  CHECK(json_of(nsatune(folder, "ack list --json"), "acks")["acks"].empty());
  file(second + kEntry + third);
  CHECK(nsatune(folder, "ack remove b").exit_code == 0);
  CHECK(now() == kEntry);
}

TEST_CASE("ack remove that finds nothing, or no lines of an entry, writes nothing", "[check]") {
  const Folder folder;
  const std::string flow =
      "[{series: a, commits: .., reason: r, until: 2030-01-01},\n {series: b, "
      "commits: .., reason: r, until: 2030-01-01}]\n";
  for (const std::string& text : {kEntry, flow}) {
    folder.write("acks.yaml", text);
    for (const char* arguments : {"a", "z", "a* --commits x..y", "a* --commits xy"}) {
      const Result result = nsatune(folder, "ack remove " + std::string(arguments));
      INFO(arguments << ": " << result.err);
      CHECK(result.exit_code == 2);
      CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
      CHECK(read_text_file(folder.file("acks.yaml")) == text);
    }
  }
  CHECK(nsatune(folder, "ack remove a --acks none.yaml").exit_code == 2);
}

TEST_CASE("ack add makes the file, and follows the indent of one that is there", "[check]") {
  const Folder folder;
  const std::string add = "ack add 'a' --commits x..y --reason r --until 2031-05-06 --acks f.yaml";
  CHECK(nsatune(folder, add).exit_code == 0);
  CHECK(read_text_file(folder.file("f.yaml")) ==
        "- series: \"a\"\n  commits: \"x..y\"\n  reason: \"r\"\n  until: \"2031-05-06\"\n");
  folder.write("f.yaml", "  - {series: q, commits: a..b, reason: r, until: 2031-05-06}\n");
  CHECK(nsatune(folder, add).exit_code == 0);
  CHECK(json_of(nsatune(folder, "ack list --acks f.yaml --json"), "acks")["acks"].size() == 2);
  folder.write("f.yaml", "[]\n");
  CHECK(nsatune(folder, add).exit_code == 2);
  CHECK(read_text_file(folder.file("f.yaml")) == "[]\n");
}

TEST_CASE("an ack with errors is one line with its place, and nothing is changed", "[check]") {
  check_refused("series: a\n", 1, "not a list");
  check_refused(kEntry + "- 5\n", 5, "map");
  check_refused(kEntry + "- serie: a\n", 5, "no key 'serie'");
  check_refused(kEntry + "- series: a\n  commits: a..b\n  reason: r\n", 5, "no 'until'");
  check_refused(kEntry + "- series: a\n  series: b\n", 6, "twice");
  check_refused(kEntry + "- series: a\n  commits: abc\n  reason: r\n  until: 2030-01-01\n", 6,
                "not a range");
  check_refused(kEntry + "- series: a\n  commits: a..b\n  reason: r\n  until: soon\n", 8, "date");
  check_refused(kEntry + "- series: [a]\n  commits: a..b\n  reason: r\n  until: 2030-01-01\n", 5,
                "text");
  check_refused("- series: a\n\tcommits: b\n", 2, "tab");
}

TEST_CASE("an ack answers for its change until its date, and for no further step", "[check]") {
  const Folder folder;
  std::vector<Column> columns{{"a/b", 100, 1.1, 24}, {"c"}};
  folder.write("h.csv", history_csv(columns, 30));
  const auto exit_code = [&](const std::string& entry, const std::string& flags = "") {
    folder.write("acks.yaml", "- {reason: r, " + entry + "}\n");
    return nsatune(folder, "check --csv h.csv --acks acks.yaml " + flags).exit_code;
  };
  const std::string until = "until: 2030-01-01, ";
  CHECK(exit_code(until + "series: 'a*', commits: 23..24", "--today 2029-12-31") == 0);
  CHECK(exit_code(until + "series: 'a*', commits: 23..24", "--today 2030-01-01") == 1);
  CHECK(exit_code(until + "series: 'a*', commits: ..", "--today 2029-12-31") == 0);
  CHECK(exit_code(until + "series: 'a*', commits: 3..4", "--today 2029-12-31") == 1);
  CHECK(exit_code(until + "series: 'c*', commits: 23..24", "--today 2029-12-31") == 1);
  CHECK(exit_code("until: 2999-01-01, series: '*', commits: 23..24") == 0);
  CHECK(exit_code("until: 2001-01-01, series: '*', commits: 23..24") == 1);
  // A second step on top of the one that is answered for.
  std::string csv = history_csv(columns, 40);
  std::vector<Column> higher{{"a/b", 121}, {"c"}};
  const std::string later = history_csv(higher, 40);
  const std::string night = "\n35,";
  csv.replace(csv.find(night), std::string::npos, later.substr(later.find(night)));
  folder.write("h.csv", csv);
  CHECK(exit_code(until + "series: 'a*', commits: 23..24", "--today 2029-12-31") == 1);
}

TEST_CASE("an ack that names no series is said", "[check]") {
  const Folder folder;
  folder.write("h.csv", history_csv({{"a"}}, 10));
  folder.write("acks.yaml", kEntry + "- {series: b, commits: .., reason: r, until: 2030-01-01}\n");
  const Result result = nsatune(folder, "check --csv h.csv --acks acks.yaml");
  CHECK(result.err == "note: the ack of 'b' names no series\n");
  CHECK(result.exit_code == 0);
}

TEST_CASE("acks of a dated history end by its last night", "[check]") {
  const Folder folder;
  std::string csv = history_csv({{"a", 100, 1.1, 24}}, 28, 1);
  for (int night = 0; night < 28; ++night) {
    const std::string index = "\n" + std::to_string(night) + ",";
    const std::string day = (night < 9 ? "0" : "") + std::to_string(night + 1);
    csv.replace(csv.find(index), index.size(), "\n2026.02." + day + " 3:00:00 +0100,");
  }
  folder.write("h.csv", csv);
  const std::string entry = "- {series: a, commits: .., reason: r, until: 2026-0";
  folder.write("acks.yaml", entry + "3-01}\n");
  CHECK(nsatune(folder, "check --csv h.csv --acks acks.yaml").exit_code == 0);
  folder.write("acks.yaml", entry + "2-28}\n");
  CHECK(nsatune(folder, "check --csv h.csv --acks acks.yaml").exit_code == 1);
}

TEST_CASE("bad flags of ack add are exit 2 and write nothing", "[check]") {
  const Folder folder;
  for (const std::string flags :
       {"--commits ab --reason r --until 2030-01-01",
        "--commits a..b --reason r --until 2030-13-01", "--commits a..b --until 2030-01-01",
        "--commits a..b --reason ''"
        " --until 2030-01-01"})
    CHECK(nsatune(folder, "ack add x " + flags).exit_code == 2);
  CHECK_FALSE(std::filesystem::exists(folder.file("acks.yaml")));
}

}  // namespace nsa::test
