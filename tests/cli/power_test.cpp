// power: the smallest step that check would find, which is larger where nights differ more.
#include "catch.hpp"
#include "history.hpp"
#include "program.hpp"

namespace nsa::test {

TEST_CASE("power finds smaller steps in longer histories, and says what is needed", "[check]") {
  const Folder folder;
  double before = 1;
  for (const int nights : {10, 20, 40}) {
    folder.write("h.csv", history_csv({{"a"}}, nights));
    const Result result = nsatune(folder, "power --csv h.csv --json");
    const Json document = json_of(result, "power");
    INFO(document.dump());
    CHECK(result.exit_code == 0);
    const double smallest = document["series"][0]["smallest"].get<double>();
    CHECK(smallest > 0.002);
    CHECK(smallest < before);
    before = smallest;
  }
  const Result text = nsatune(folder, "power --csv h.csv --target 0.5");
  CHECK(text.out.find("for 0.50 %") != std::string::npos);
}

TEST_CASE("power of too few nights exits 3", "[check]") {
  const Folder folder;
  folder.write("h.csv", history_csv({{"a"}}, 5));
  const Result result = nsatune(folder, "power --csv h.csv");
  CHECK(result.exit_code == 3);
  CHECK(result.out.find("too few nights") != std::string::npos);
}

TEST_CASE("power says why it names no step of values that are equal or not positive", "[check]") {
  const Folder folder;
  std::string csv = "time,equal,negative\n";
  for (int night = 0; night < 20; ++night)
    csv += std::to_string(night) + ",1,-1." + std::to_string(night % 3) + "\n";
  folder.write("h.csv", csv);
  const Result result = nsatune(folder, "power --csv h.csv");
  INFO(result.out);
  CHECK(result.exit_code == 3);
  CHECK(result.out.find("all nights are equal") != std::string::npos);
  CHECK(result.out.find("not all are positive") != std::string::npos);
  CHECK(result.out.find("too few nights") == std::string::npos);
}

TEST_CASE("values that are no noise of one level are refused by their series", "[check]") {
  const Folder folder;
  for (const char* odd : {"1e308", "1e-308", "1e9"}) {
    std::string csv = history_csv({{"a"}}, 12);
    folder.write("h.csv", csv + "13," + odd + "\n");
    const Result result = nsatune(folder, "power --csv h.csv");
    INFO(odd << ": " << result.out << result.err);
    CHECK(result.exit_code == 2);
    CHECK(result.out.empty());
    CHECK(result.err.starts_with("nsatune: a: its values lie between "));
    CHECK(result.err.find("more than a million times the smallest") != std::string::npos);
  }
  // All of them large is a unit, not a mistake.
  std::string large = "time,a\n";
  for (int night = 0; night < 12; ++night)
    large += std::to_string(night) + ",1.00" + std::to_string(night % 3) + "e308\n";
  folder.write("h.csv", large);
  CHECK(nsatune(folder, "power --csv h.csv").exit_code == 0);
}

}  // namespace nsa::test
