#include "fixtures.hpp"

#include "../store/support.hpp"
#include "nsa/store/store.hpp"

namespace nsa::test {
namespace {

/// Rows of measured.json as a results database.
void make_database(const Json& rows, const std::string& path) {
  store::Store store = store::Store::open(path);
  const auto run = store.open_run(some_request());
  std::int64_t number = 0;
  for (const Json& row : rows) {
    Measurement m = some_measurement(run.run().id, number++);
    m.problem = Problem();
    m.problem.seq_lens = {row.at("seq_len").get<std::int64_t>()};
    m.variant = {{row.at("stage").get<std::string>()}, row.at("variant").get<std::string>(), {}};
    m.median_ns = row.at("median_ns").get<double>();
    store.add(m);
  }
}

}  // namespace

std::string fixtures_folder() { return std::string(NSA_SOURCE_DIR) + "/tests/doctor/fixtures"; }

Fixture::Fixture(const std::string& name) {
  for (const auto& entry : std::filesystem::directory_iterator(fixtures_folder() + "/" + name)) {
    const std::string file = entry.path().filename().string();
    std::filesystem::copy_file(entry.path(), folder_.file(file));
    if (file == "env") {
      arguments_ += " --env-file env";
    } else if (file == "measured.json") {
      make_database(Json::parse(read_text_file(folder_.file(file))), folder_.file("db.sqlite"));
      arguments_ += " --db db.sqlite";
    } else {
      arguments_ += " " + file;
    }
  }
}

Result Fixture::run(const std::string& flags) const {
  return nsatune(folder_, "doctor" + arguments_ + " " + flags);
}

std::set<std::string> rules_of(const Json& document) {
  std::set<std::string> rules;
  for (const Json& finding : document.at("findings"))
    rules.insert(finding.at("rule").get<std::string>());
  return rules;
}

}  // namespace nsa::test
