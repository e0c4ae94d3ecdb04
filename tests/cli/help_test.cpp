// What the program says of itself: help, manual pages, its version; and how it is laid out.
#include <algorithm>
#include <sstream>

#include "catch.hpp"
#include "program.hpp"

namespace nsa::test {

TEST_CASE("help and version answer with exit 0 and examples", "[cli]") {
  const Folder folder;
  for (const char* command : {"",
                              "devices ",
                              "variants ",
                              "sweep ",
                              "tune ",
                              "explain ",
                              "run ",
                              "db ",
                              "export ",
                              "import ",
                              "check ",
                              "ack ",
                              "ack add ",
                              "selftest ",
                              "power ",
                              "report matrix ",
                              "report paths ",
                              "report ablations ",
                              "report batch ",
                              "report claims ",
                              "report eta ",
                              "report scaling ",
                              "report targets ",
                              "report memory ",
                              "report bundle ",
                              "report selection "}) {
    const Result help = nsatune(folder, std::string(command) + "--help");
    INFO(command);
    CHECK(help.exit_code == 0);
    CHECK(help.out.find("Examples:") != std::string::npos);
  }
  CHECK(nsatune(folder, "--version").out.find("nsatune 0.") == 0);
}

TEST_CASE("a bare call shows the help and is exit 2, and help names a command's", "[cli]") {
  const Folder folder;
  const Result bare = nsatune(folder, "");
  CHECK(bare.exit_code == 2);
  CHECK(bare.out.empty());
  CHECK(bare.err.find("Subcommands:") != std::string::npos);
  std::istringstream fitted(nsatune(folder, "", "COLUMNS=60").err);
  for (std::string line; std::getline(fitted, line);) {
    CAPTURE(line);
    CHECK(line.size() <= 60);
  }
  CHECK(nsatune(folder, "help db info").out == nsatune(folder, "db info --help").out);
  CHECK(nsatune(folder, "help").out == nsatune(folder, "--help").out);
}

TEST_CASE("manual pages say what help says, for every command", "[cli]") {
  const Folder folder;
  REQUIRE(nsatune(folder, "help --man-pages man").exit_code == 0);
  for (const char* words : {"", "sweep", "db info", "trace record"}) {
    const std::string page = nsatune(folder, std::string("help --man ") + words).out;
    std::string name = std::string("nsatune") + (*words ? "-" : "") + words;
    std::replace(name.begin(), name.end(), ' ', '-');
    CAPTURE(name);
    CHECK(read_text_file(folder.file("man/man1/" + name + ".1")) == page);
    std::string plain;  // without what roff needs
    for (std::size_t i = 0; i < page.size(); ++i)
      if (page[i] != '\\') plain += page[i];
    std::istringstream help(nsatune(folder, std::string("help ") + words).out);
    for (std::string line; std::getline(help, line);) {
      const std::size_t flag = line.find("--");
      if (!line.starts_with("  -") || flag == line.npos) continue;
      CHECK(plain.find(line.substr(flag, line.find_first_of(" ,", flag) - flag)) !=
            std::string::npos);
    }
    CHECK(plain.find(".SH EXAMPLES") != std::string::npos);
  }
  if (std::system("command -v groff >/dev/null") != 0) return;
  const std::string warnings =
      "cd '" + folder.file("man/man1") + "' && groff -man -Tutf8 -ww *.1 2>&1 >/dev/null | grep . ";
  CHECK(std::system(warnings.c_str()) != 0);  // no warning
}

TEST_CASE("docs/environment.md names every variable that is read", "[cli]") {
  const Folder folder;
  const std::string page = nsatune(folder, "help --variables").out;
  INFO("after a change run: nsatune help --variables > docs/environment.md");
  CHECK(page == read_text_file(NSA_SOURCE_DIR "/docs/environment.md"));
  const std::string names = "cd " NSA_SOURCE_DIR
                            " && grep -rhoE 'getenv\\(\"NSATUNE_[A-Z_]+' tuner kernels probes "
                            "reports schemas --include=*.cpp | grep -o 'NSATUNE.*' | sort -u > " +
                            folder.file("names");
  REQUIRE(std::system(names.c_str()) == 0);
  std::istringstream read(read_text_file(folder.file("names")));
  std::size_t count = 0;
  for (std::string name; std::getline(read, name); ++count) {
    CAPTURE(name);
    CHECK(page.find("`" + name + "`") != std::string::npos);
  }
  CHECK(count >= 4);
}

TEST_CASE("the version as JSON says what was built", "[cli]") {
  const Folder folder;
  for (const char* line : {"--version --json", "--json --version"}) {
    const Json version = json_of(nsatune(folder, line), "version");
    CHECK(version["cuda"].is_null() == !NSATUNE_HAVE_CUDA);
    CHECK(nsatune(folder, "--version").out.find(version["build_id"].get<std::string>()) !=
          std::string::npos);
  }
}

TEST_CASE("tables and prose are no wider than the terminal", "[cli]") {
  const Folder folder;
  nsatune(folder, "run --preset tiny --layers 1 --seq-len 64 --steps 1");
  for (const char* command :
       {"report targets", "report eta --tokens-per-s 39 --price 2", "report memory --preset tiny",
        "devices", "variants", "doctor --list", "explain --seq-len 2048", "db info", "help verify",
        "report results", "run --preset tiny --layers 1 --seq-len 64 --steps 1",
        "sweep quick --stage ranges --dry-run"}) {
    std::istringstream text(nsatune(folder, command, "COLUMNS=60").out);
    for (std::string line; std::getline(text, line);) {
      CAPTURE(command, line);
      CHECK(line.size() <= 60);
    }
  }
}

TEST_CASE("who reads has seen enough: a closed pipe is quiet", "[cli]") {
  const Folder folder;
  for (const char* command : {"variants", "--help", "variants --json", "help sweep"}) {
    const Result head = nsatune(folder, std::string(command) + " 2>said.txt | head -n 1");
    CAPTURE(command);
    CHECK(std::count(head.out.begin(), head.out.end(), '\n') == 1);
    CHECK(read_text_file(folder.file("said.txt")).empty());
  }
}

}  // namespace nsa::test
