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

}  // namespace nsa::test
