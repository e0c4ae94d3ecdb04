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

TEST_CASE("selftest plants no step that numbers cannot hold", "[check]") {
  const Folder folder;
  std::string wild = "time,a\n", beside = "time,a,b\n";
  for (int night = 0; night < 20; ++night) {
    const std::string value = std::to_string(night) + (night % 2 ? ",1e308" : ",1");
    wild += value + "\n";
    beside += value + (night % 3 ? ",100.1\n" : ",99.9\n");
  }
  folder.write("wild.csv", wild);
  const Result result = nsatune(folder, "selftest --csv wild.csv");
  INFO(result.out);
  CHECK(result.exit_code == 3);
  CHECK(result.out.find("inf") == std::string::npos);
  CHECK(result.out.find("varies more than a step could stand out from") != std::string::npos);
  CHECK(json_of(nsatune(folder, "selftest --csv wild.csv --json"), "selftest")["ratio"] == 1);
  folder.write("beside.csv", beside);
  CHECK(nsatune(folder, "selftest --csv beside.csv")
            .out.starts_with("planted a step of +10.0 % "
                             "in b\n"));
}

TEST_CASE("selftest finds its step after one of many powers of ten, too", "[check]") {
  const Folder folder;
  for (const double factor : {1e9, 1e308}) {
    for (const std::int64_t night : {6, 12, 13}) {
      INFO(factor << " at night " << night);
      folder.write("h.csv", history_csv({{"a", 1, factor, night}}, 20));
      const Result result = nsatune(folder, "selftest --csv h.csv");
      INFO(result.out);
      CHECK(result.exit_code == 0);
      CHECK(result.out.starts_with("planted a step of +10.0 % in a\nthe gate works"));
    }
  }
}

TEST_CASE("selftest plants a step that stands out from how values are rounded", "[check]") {
  const Folder folder;
  std::string rows = "time,bytes\n";
  for (int night = 0; night < 20; ++night)
    rows += std::to_string(night) + (night < 12 ? ",100\n" : ",200\n");
  folder.write("h.csv", rows);
  const Result result = nsatune(folder, "selftest --csv h.csv");
  INFO(result.out);
  CHECK(result.exit_code == 0);
  CHECK(result.out.find("x in bytes\nthe gate works") != std::string::npos);
}

TEST_CASE("selftest says by how much it moves values that have no ratio", "[check]") {
  const Folder folder;
  std::string rows = "time,a\n";
  for (int night = 0; night < 20; ++night)
    rows += std::to_string(night) + (night % 2 ? ",-10.01\n" : ",-9.99\n");
  folder.write("h.csv", rows);
  const Result result = nsatune(folder, "selftest --csv h.csv");
  INFO(result.out);
  CHECK(result.out.starts_with("planted a step of +1 in a\n"));
}

TEST_CASE("a step from 1 to 1e308 is printed in few digits", "[check]") {
  const Folder folder;
  folder.write("h.csv", history_csv({{"a", 1, 1e308, 15}, {"b"}}, 20));
  for (const std::string format : {"text", "markdown", "junit", "csv"}) {
    const Result result = nsatune(folder, "check --csv h.csv --format " + format);
    INFO(result.out);
    CHECK(result.exit_code == 1);
    CHECK(result.out.find("inf") == std::string::npos);
    CHECK(result.out.find("00000000") == std::string::npos);
  }
}

}  // namespace nsa::test
