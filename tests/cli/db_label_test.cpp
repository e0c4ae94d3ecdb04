// db label as a user meets it.
#include "../store/support.hpp"
#include "catch.hpp"
#include "program.hpp"

namespace nsa::test {
namespace {

/// Ids of two runs, the older one first.
std::pair<std::string, std::string> make_runs(const Folder& folder) {
  store::Store store = store::Store::open(folder.file("results.sqlite"));
  store::RunRequest request = some_request();
  request.always_new = true;
  const std::string first = store.open_run(request).run().id;
  return {first, store.open_run(request).run().id};
}

Json labels_of(const Folder& folder, const std::string& run) {
  const Json info = json_of(nsatune(folder, "db info --json"), "db_info");
  for (const Json& entry : info["run_list"]) {
    if (entry["id"] == run) return entry["labels"];
  }
  return nullptr;
}

}  // namespace

TEST_CASE("db label names the newest run or those that are given, and takes names away", "[cli]") {
  const Folder folder;
  const auto [older, newer] = make_runs(folder);
  const Json newest = json_of(nsatune(folder, "db label --label v1.2 --json"), "db_label");
  CHECK(newest["runs"] == Json{newer});
  CHECK(nsatune(folder, "db label " + older + " " + newer + " --label 'a b'").exit_code == 0);
  CHECK(labels_of(folder, newer) == Json{"a b", "v1.2"});
  CHECK(labels_of(folder, older) == Json{"a b"});
  CHECK(nsatune(folder, "db info").out.find("[a b] [v1.2]") != std::string::npos);
  CHECK(nsatune(folder, "db label " + older + " --label 'a b' --remove").exit_code == 0);
  CHECK(labels_of(folder, older) == Json::array());
  CHECK(labels_of(folder, newer) == Json{"a b", "v1.2"});
}

TEST_CASE("db label refuses what is no run or no name with one line, and labels nothing", "[cli]") {
  const Folder folder;
  const auto [older, newer] = make_runs(folder);
  const std::string control = "\"$(printf 'a\\033b')\"";
  for (const std::string& arguments :
       {newer + " zzzz --label x", newer + " --label ''", newer + " --label " + control,
        newer + " --label " + std::string(201, 'x'), newer, newer + " --label x --db none.sqlite",
        newer + " --label x --remove"}) {
    const Result result = nsatune(folder, "db label " + arguments);
    INFO(arguments << ": " << result.err);
    CHECK(result.exit_code == 2);
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  }
  CHECK(labels_of(folder, newer) == Json::array());
  CHECK_FALSE(std::filesystem::exists(folder.file("none.sqlite")));
}

}  // namespace nsa::test
