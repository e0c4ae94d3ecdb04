// selftest: whether a step that is planted in the user's own data is found.
#include "catch.hpp"
#include "history.hpp"
#include "program.hpp"

namespace nsa::test {

TEST_CASE("selftest plants a step that check finds, whatever check says of the data", "[check]") {
  const Folder folder;
  const std::vector<Column> good{{"a"}, {"b"}}, bad{{"a", 100, 1.1, 14}, {"b"}};
  for (const auto& columns : {good, bad}) {
    folder.write("h.csv", history_csv(columns, 20));
    const int check = nsatune(folder, "check --csv h.csv").exit_code;
    for (const std::string flags : {"", "--direction higher ", "--direction both "}) {
      const Result result = nsatune(folder, "selftest --csv h.csv --json " + flags);
      const Json document = json_of(result, "selftest");
      INFO(document.dump());
      CHECK(result.exit_code == 0);
      CHECK(document["found"] == true);
      CHECK(document["restored"] == true);
      if (flags.empty()) CHECK(document["exit_code_of_data"] == check);
    }
  }
}

TEST_CASE("selftest says that a gate that lets everything through does not work", "[check]") {
  const Folder folder;
  folder.write("h.csv", history_csv({{"a"}}, 20));
  const Result result = nsatune(folder, "selftest --csv h.csv --min-change 50");
  CHECK(result.exit_code == 1);
  CHECK(result.out.find("the gate does NOT work: with the step check exits 0") !=
        std::string::npos);
}

TEST_CASE("selftest plants a step in a series that regressed where no other is left", "[check]") {
  const Folder folder;
  folder.write("h.csv", history_csv({{"a", 100, 1.1, 12}}, 20));
  const Result result = nsatune(folder, "selftest --csv h.csv --json");
  const Json document = json_of(result, "selftest");
  INFO(document.dump());
  CHECK(result.exit_code == 0);
  CHECK(document["exit_code_of_data"] == 1);
  // One that began with the step would say nothing of the gate.
  folder.write("h.csv", history_csv({{"a", 100, 1.1, 15}}, 20));
  CHECK(nsatune(folder, "selftest --csv h.csv").exit_code == 3);
}

TEST_CASE("selftest of a short history exits 3 and says why", "[check]") {
  const Folder folder;
  folder.write("h.csv", history_csv({{"a"}}, 11));
  const Result result = nsatune(folder, "selftest --csv h.csv");
  CHECK(result.exit_code == 3);
  CHECK(result.out.find("12 nights in one environment; there are 11") != std::string::npos);
  folder.write("h.csv", history_csv({{"a"}}, 1));
  CHECK(nsatune(folder, "selftest --csv h.csv").out.find("there is 1 night\n") !=
        std::string::npos);
  CHECK(nsatune(folder, "selftest --csv none.csv").exit_code == 2);
}

}  // namespace nsa::test
