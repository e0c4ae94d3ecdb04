// Damaged files of every format: rows that are valid, or one InputError of one line. Nothing else.
#include <cstdlib>

#include "../store/support.hpp"
#include "catch.hpp"
#include "exchange_support.hpp"
#include "mutate.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::exchange {
namespace {

using test::below;
using test::Random;

/// Mutations in all, over all formats: NSATUNE_EXCHANGE_MUTATIONS, else few enough for every check.
std::size_t mutations() {
  const char* text = std::getenv("NSATUNE_EXCHANGE_MUTATIONS");
  return text ? std::strtoull(text, nullptr, 10) : 500;
}

void damage(std::string& text, Random& random) {
  static const std::vector<std::string> kPieces{"1e-320",
                                                "|",
                                                "=",
                                                ";",
                                                "../",
                                                "nsatune",
                                                "ERROR",
                                                std::string(200, '['),
                                                std::string(70, '{')};
  test::mutate(text, random, kPieces);
}

struct Seed {
  const Format* format;
  Bundle bundle;
  Mapping mapping;
};

Mapping foreign_mapping() {
  Mapping mapping;
  mapping.stage = "attend_selected";
  mapping.axes = {{"seq_len", "n"}};
  return mapping;
}

/// Our own files, foreign ones, and those in the users' forms: their own too where they are.
std::vector<Seed> seeds() {
  std::vector<Seed> all;
  for (const Format& format : formats()) {
    if (format.write) all.push_back({&format, format.write(test::some_results(1, true), "o"), {}});
  }
  const auto foreign = [&](const char* name, const char* text) {
    all.push_back({&find_format(name), {text, {}}, foreign_mapping()});
  };
  foreign("kernel_tuner",
          R"({"device_name":"d","kernel_name":"k","tune_params_keys":["n","b"],"cache":{
"1":{"n":512,"b":64,"time":0.5,"times":[0.4,0.5]},"2":{"n":512,"b":"x","time":"InvalidConfig"})");
  foreign("t4", R"({"results":[{"configuration":{"n":512},"times":{"runtimes":[0.25]},
"invalidity":"correct","correctness":1}]})");
  foreign("nvbench", R"({"devices":[{"id":0,"name":"d"}],"benchmarks":[{"name":"k","states":[
{"device":0,"is_skipped":false,"axis_values":[{"name":"n","type":"int64","value":"512"}],
"summaries":[{"tag":"nv/cold/time/gpu/mean","data":[{"name":"value","value":"1e-5"}]}]}]}]})");
  foreign("google_benchmark", R"({"benchmarks":[{"name":"BM/n:512","real_time":5.5,
"iterations":9,"time_unit":"us"}]})");
  foreign("otava", "time,n,a\n2024-01-01T00:00:00Z,512,1.5\n");
  const auto vibe = [&](const std::string& text) {
    all.push_back({&find_format("nsa_vibe"), {text, {}}, {}});
  };
  for (const auto& [name, text] : test::made_up_files()) vibe(text);
  for (const char* name :
       {"decode.csv", "varlen_results.csv", "dense_final_detailed.csv", "fa2_cmp.txt",
        "fa2_win.txt", "fa2_thresholds.md", "a100_decode_guard.json"}) {
    if (const auto text = test::users_file(name)) vibe(*text);
  }
  return all;
}

Bundle mutant_of(Bundle bundle, Random& random) {
  const std::size_t which = below(random, bundle.sidecars.size() + 2);
  if (which < bundle.sidecars.size()) {
    damage(std::next(bundle.sidecars.begin(), static_cast<std::ptrdiff_t>(which))->second, random);
  } else {
    damage(bundle.text, random);
  }
  return bundle;
}

void check_message(const std::string& message) {
  CAPTURE(message);
  REQUIRE_FALSE(message.empty());
  REQUIRE(message.size() < 1500);
}

TEST_CASE("a damaged file is valid rows or one line, and the database stays whole", "[exchange]") {
  const test::TempFolder folder;
  auto db = store::Store::open(folder.file("db.sqlite"));
  const std::vector<Seed> all = seeds();
  Random random(24);
  std::size_t valid = 0, stored = 0;
  const std::size_t n = mutations();
  for (std::size_t i = 0; i < n; ++i) {
    const Seed& seed = all[i % all.size()];
    const Bundle mutant = mutant_of(seed.bundle, random);
    CAPTURE(i, seed.format->name);
    const std::int64_t before = db.info().measurements;
    try {
      const Imported imported = test::read_bundle(*seed.format, mutant, seed.mapping);
      ++valid;
      const auto runs = import_runs(imported, {std::string(seed.format->name), "mutant", "test",
                                               std::to_string(i), seed.mapping});
      // Some of the rows that were read also have to be rows that can be stored.
      if (valid % 8 == 0) {
        db.add_runs(runs);
        ++stored;
      }
    } catch (const InputError& error) {
      check_message(error.what());
      REQUIRE(db.info().measurements == before);
    }
  }
  CHECK(valid > n / 50);  // both ends are reached
  CHECK(valid < n - n / 50);
  CHECK(stored > 0);
  CHECK(db.verify().empty());
}

}  // namespace
}  // namespace nsa::exchange
