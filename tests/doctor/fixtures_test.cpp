// Every rule of the table has input in which it is found, and input close to it in which it is not.
#include <algorithm>
#include <filesystem>

#include "catch.hpp"
#include "fixtures.hpp"
#include "nsa/doctor/rule.hpp"

namespace nsa::test {

TEST_CASE("each rule finds its red fixture and keeps quiet on its green one", "[doctor]") {
  REQUIRE(doctor::rules().size() >= 60);
  for (const doctor::Rule& rule : doctor::rules()) {
    const std::string id(rule.id);
    CAPTURE(id);
    REQUIRE(std::filesystem::is_directory(fixtures_folder() + "/" + id + "/red"));
    REQUIRE(std::filesystem::is_directory(fixtures_folder() + "/" + id + "/green"));

    const Result red = Fixture(id + "/red").run("--json");
    CHECK(red.exit_code == 1);
    CHECK(rules_of(json_of(red, "doctor")).contains(id));

    const Result green = Fixture(id + "/green").run("--json");
    CHECK(green.exit_code < 2);
    const Json document = json_of(green, "doctor");
    CHECK_FALSE(rules_of(document).contains(id));
    const auto& judged = document["judged"];  // quiet because it looked, not because it could not
    CHECK(std::find(judged.begin(), judged.end(), to_string(rule.kind)) != judged.end());
  }
}

TEST_CASE(
    "each finding says where it was seen, an upper bound of what can be gained, and what to do",
    "[doctor]") {
  for (const doctor::Rule& rule : doctor::rules()) {
    CAPTURE(std::string(rule.id));
    const Json document = json_of(Fixture(std::string(rule.id) + "/red").run("--json"), "doctor");
    for (const Json& finding : document["findings"]) {
      REQUIRE_FALSE(finding["evidence"].empty());
      CHECK_FALSE(finding["advice"].get<std::string>().empty());
      CHECK_FALSE(finding["gain"]["basis"].get<std::string>().empty());
      for (const Json& fact : finding["evidence"]) CHECK(fact["source"] != "");
      const Json &most = finding["gain"]["at_most_ns"], &of = finding["gain"]["of_ns"];
      if (!most.is_null()) CHECK(most.get<std::int64_t>() <= of.get<std::int64_t>());
    }
  }
}

TEST_CASE("nothing is found in a good environment, config, log, heartbeat, trace and run",
          "[doctor]") {
  const Fixture clean("_clean");
  const Result result = clean.run();
  INFO(result.out);
  CHECK(result.exit_code == 0);
  CHECK(result.out.starts_with("nothing found; "));
  const Json document = json_of(clean.run("--json"), "doctor");
  CHECK(document["findings"].empty());
  CHECK(document["judged"].size() == 6);
  CHECK(document["rules_judged"] == doctor::rules().size());
}

TEST_CASE("no rule finds anything in ordinary traces, of whatever program", "[doctor]") {
  for (const char* name : {"training", "server", "image", "attention", "gpus"}) {
    CAPTURE(name);
    const Result result = Fixture(std::string("_ordinary/") + name).run("--json");
    INFO(result.out);
    CHECK(result.exit_code == 0);
    CHECK(json_of(result, "doctor")["findings"].empty());
  }
}

TEST_CASE("no fixture is left of a rule that is gone", "[doctor]") {
  for (const auto& entry : std::filesystem::directory_iterator(fixtures_folder())) {
    const std::string name = entry.path().filename().string();
    CAPTURE(name);
    CHECK((name == "_clean" || name == "_ordinary" ||
           std::any_of(doctor::rules().begin(), doctor::rules().end(),
                       [&](const auto& rule) { return rule.id == name; })));
  }
}

}  // namespace nsa::test
