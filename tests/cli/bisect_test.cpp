// bisect: the range of a step, its script, and what cannot be bisected.
#include <fmt/format.h>

#include "catch.hpp"
#include "history.hpp"
#include "program.hpp"

namespace nsa::test {
namespace {

/// 30 nights of a series that steps by 10 % in night 25 and of one that does not, with commits.
std::string history(const std::string& good = "1f2e", const std::string& bad = "9a8b") {
  std::string csv = "time,commit,slower,steady\n";
  for (int night = 0; night < 30; ++night)
    csv += fmt::format("{},{},{},{}\n", night, night < 25 ? good : bad,
                       (night < 25 ? 100 : 110) * (1 + 0.005 * wobble(night, 0)),
                       100 * (1 + 0.005 * wobble(night, 1)));
  return csv;
}

constexpr const char* kScript = " --build make --measure ./bench -o b.sh";

}  // namespace

TEST_CASE("bisect says the range of the step and writes a script that a shell takes", "[check]") {
  const Folder folder;
  folder.write("h.csv", history());
  const Json range = json_of(nsatune(folder, "bisect --csv h.csv --json"), "bisect");
  CHECK(range["series"] == "slower");
  CHECK(range["good"] == "1f2e");
  CHECK(range["bad"] == "9a8b");
  CHECK(range["ratio"].get<double>() == Approx(1.1).epsilon(0.01));
  CHECK_FALSE(range.contains("script"));
  const std::string build = " --build \"echo it's; make\" --measure 'printf \"%s\" 1' -o b.sh";
  CHECK(nsatune(folder, "bisect --csv h.csv" + build).exit_code == 0);
  CHECK(std::system(("sh -n '" + folder.file("b.sh") + "'").c_str()) == 0);
  const std::string script = read_text_file(folder.file("b.sh"));
  CHECK(script.find("build='echo it'\\''s; make'") != std::string::npos);
}

TEST_CASE("the command that bisect prints can be pasted, whatever the script is called",
          "[check]") {
  const Folder folder;
  folder.write("h.csv", history());
  const Result r =
      nsatune(folder, "bisect --csv h.csv --build make --measure ./bench -o 'my script; x.sh'");
  CHECK(r.exit_code == 0);
  CHECK(r.err.find("git bisect run '" + folder.file("my script; x.sh") + "'") != std::string::npos);
}

TEST_CASE("bisect without a step says so, whatever is asked for", "[check]") {
  const Folder folder;
  folder.write("h.csv", history());
  const std::string quiet = "bisect --csv h.csv -q --series steady";
  const Result text = nsatune(folder, quiet);
  CHECK(text.exit_code == 3);
  CHECK(text.err == "bisect: no series of the name steady has a step to the worse\n");
  const Result json = nsatune(folder, quiet + " --json");
  CHECK(json.exit_code == 3);
  CHECK(json_of(json, "bisect")["series"].is_null());
  CHECK(nsatune(folder, "bisect --csv h.csv --direction higher").err ==
        "bisect: no series has a step to the worse\n");
}

TEST_CASE("bisect counts rows from 1, as people do", "[check]") {
  const Folder folder;
  folder.write("h.csv", history());
  CHECK(nsatune(folder, "bisect --csv h.csv").out.find(" since 25, row 26\n") != std::string::npos);
}

TEST_CASE("bisect refuses commits that are no names, and flags that lack each other", "[check]") {
  const Folder folder;
  for (const char* commit : {"", "$(touch hacked)", "--all", "a b", "9a8b"}) {
    folder.write("h.csv", history(commit));
    const Result result = nsatune(folder, std::string("bisect --csv h.csv") + kScript);
    INFO(commit << ": " << result.err);
    CHECK(result.exit_code == 2);
    CHECK_FALSE(std::filesystem::exists(folder.file("b.sh")));
  }
  folder.write("h.csv", history());
  for (const char* flags : {"--build make", "-o b.sh", "--build make -o b.sh",
                            "--build make --measure x --worker y -o b.sh",
                            "--build make --measure x -o h.csv", "--build make --worker y -o b.sh"})
    CHECK(nsatune(folder, std::string("bisect --csv h.csv ") + flags).exit_code == 2);
  CHECK(read_text_file(folder.file("h.csv")) == history());
}

TEST_CASE("bisect says when the history does not tell between which commits a step came",
          "[check]") {
  const Folder folder;
  folder.write("h.csv", history("", ""));
  const Result unknown = nsatune(folder, "bisect --csv h.csv");
  CHECK(unknown.exit_code == 0);
  CHECK(unknown.out.find("no commits: the history names none") != std::string::npos);
  CHECK(unknown.out.find("..") == std::string::npos);
  folder.write("h.csv", history("1f2e", "1f2e"));
  const Result same = nsatune(folder, "bisect --csv h.csv");
  CHECK(same.out.find("no other commit: both nights ran 1f2e") != std::string::npos);
}

TEST_CASE("bisect step: good, bad, cannot be told, and a good commit without a time", "[check]") {
  const Folder folder;
  for (const char* name : {"good", "fast", "slow", "broken"})
    std::filesystem::create_directory(folder.path() / name);
  folder.write("good/ms", "words\n100\n");
  folder.write("fast/ms", "101\n\n");
  folder.write("slow/ms", " 109 \n");
  folder.write("broken/ms", "109 ms\n");
  const auto step = [&](const std::string& good, const std::string& candidate,
                        const std::string& more = "") {
    return nsatune(folder, "bisect step --step 0.0953 --noise 0.01 --measure 'cat ms' --good " +
                               good + " --candidate " + candidate + " " + more);
  };
  CHECK(step("good", "fast").exit_code == 0);
  CHECK(step("good", "slow").exit_code == 1);
  CHECK(step("good", "broken").exit_code == 125);
  CHECK(step("broken", "slow").exit_code == 4);
  CHECK(step("good", "none").exit_code == 2);
  const Result json = step("good", "slow", "--json");
  CHECK(json_of(json, "bisect_step") == Json{{"side", "bad"}, {"pairs", 3}});
  CHECK(nsatune(folder, "bisect step --step 0 --measure 'cat ms' --good good --candidate slow")
            .exit_code == 2);
}

}  // namespace nsa::test
