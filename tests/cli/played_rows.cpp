#include "played_rows.hpp"

#include "../store/support.hpp"
#include "catch.hpp"
#include "nsa/schemas/executor.hpp"

namespace nsa::test {

std::string world_of(const std::string& stage, const std::string& earlier, const std::string& later,
                     int crossing) {
  const Json noise = {{"white_sigma", 0.002}};
  const Json first = {{"name", earlier},
                      {"time", {{"launch_ns", 10000}, {"terms", {{{"ns", 100}, {"order", 1}}}}}}};
  const Json second = {
      {"name", later},
      {"time", {{"relative_to", earlier}, {"slope_percent", -30}, {"crossings", {crossing}}}}};
  return Json{{"schema_version", 1},        {"seed", 5},      {"executor", "played"},
              {"stages", {stage}},          {"noise", noise}, {"state", stage + ".state"},
              {"variants", {first, second}}}
      .dump();
}

void add_played_rows(const Folder& folder, const std::string& spec,
                     const std::vector<std::string>& worlds) {
  folder.write("played.json", spec);
  store::Store ours = store::Store::open(folder.file("results.sqlite"));
  const store::OwnedRun run = ours.open_run(some_request());
  for (std::size_t i = 0; i < worlds.size(); ++i) {
    const std::string world = "world" + std::to_string(i) + ".json";
    const std::string db = folder.file(world + ".sqlite");
    folder.write(world, worlds[i]);
    const Result swept = nsatune(folder,
                                 "sweep played.json -q --db " + db +
                                     " --worker '" NSATUNE_PROGRAM " worker-sim " + world + "'",
                                 "NSATUNE_LOCK_DIR=" + folder.path().string());
    INFO(swept.err);
    REQUIRE(swept.exit_code == 0);
    store::Query with_samples;
    with_samples.with_samples = true;
    for (Measurement row : store::Store::open(db).measurements(with_samples)) {
      row.run_id = run.run().id;
      row.executor = kOwnExecutor;
      row.placement = some_measurement(row.run_id, 1).placement;
      row.verification = Verification::verified;
      REQUIRE(ours.add(row));
    }
  }
}

}  // namespace nsa::test
