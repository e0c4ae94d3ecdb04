// Results of `run`, probes of libraries and agreements, beside the measurements.
#include <SQLiteCpp/SQLiteCpp.h>

#include "catch.hpp"
#include "nsa/schemas/error.hpp"
#include "support.hpp"

using namespace nsa;
using nsa::store::RunResult;
using nsa::store::Store;

namespace {

const std::vector<Capability> kLibraries{{"OpenBLAS", true, "0.3.21", ""},
                                         {"CUPTI", false, "130001", "held by ncu"}};

Run ended_run(const std::string& id) {
  const store::RunRequest request = test::some_request();
  Run run;
  run.id = id;
  run.spec_hash = request.spec_hash;
  run.spec_json = R"({"run":"tiny"})";
  run.build_id = request.build_id;
  run.environment = request.environment;
  run.devices = request.devices;
  run.started_at = "2026-01-02T03:04:05.000Z";
  run.ended_at = "2026-01-02T03:05:05.000Z";
  run.state = RunState::complete;
  return run;
}

AgreementRow some_agreement(const std::string& run_id) {
  AgreementRow row;
  row.id = make_uuid();
  row.run_id = run_id;
  row.placement = {{"node1", "GPU-1"}};
  row.variant = {{"score"}, "p_cmp_bf16", {}};
  row.source_hash = "9f";
  row.checked_at = "2026-01-02T03:04:05.000Z";
  row.agreement = {64, 63};
  return row;
}

}  // namespace

TEST_CASE("a result of run comes back with its run, libraries and telemetry", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("r.sqlite");
  const RunResult old = test::some_result("r1", "2026-01-02T03:04:05.000Z", 100);
  const RunResult now = test::some_result("r2", "2026-01-03T03:04:05.000Z", 200);
  {
    Store store = Store::open(path);
    store.add(ended_run("r1"), kLibraries, old);
    store.add(ended_run("r2"), {}, now);
    store.add(ended_run("r2"), {}, now);  // once is enough
  }
  const Store store = Store::open_existing(path);
  CHECK(store.run_results() == std::vector<RunResult>{now, old});
  CHECK(store.run_results("r1") == std::vector<RunResult>{old});
  CHECK(store.run_results("another").empty());
  CHECK(store.libraries("r1") == kLibraries);
  CHECK(store.libraries("r2").empty());
  CHECK(store.runs().size() == 2);
  CHECK(store.find_run("r1")->devices == ended_run("r1").devices);
  REQUIRE(store.telemetry("r1").size() == 1);
  CHECK(store.telemetry("r1").front().report == old.report["telemetry"]);
  CHECK(store.info().run_results == 2);
  CHECK(store.verify().empty());
}

TEST_CASE("a sweep's run keeps what the probes said when it began", "[store]") {
  const test::TempFolder folder;
  Store store = Store::open(folder.file("r.sqlite"));
  store::RunRequest request = test::some_request();
  request.libraries = kLibraries;
  const std::string id = store.open_run(request).run().id;
  CHECK(store.libraries(id) == kLibraries);
}

TEST_CASE("a result that obeys no schema is refused with its id, and listed by verify", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("r.sqlite");
  const RunResult result = test::some_result("r1", "2026-01-02T03:04:05.000Z", 100);
  Store::open(path).add(ended_run("r1"), {}, result);
  SQLite::Database(path, SQLite::OPEN_READWRITE).exec("UPDATE run_result SET report = '{}'");
  const Store store = Store::open_existing(path);
  const auto refusal = test::message_of<InputError>([&] { (void)store.run_results(); });
  CHECK(refusal.find(result.id) != std::string::npos);
  REQUIRE(store.verify().size() == 1);
  CHECK(store.verify().front().find(result.id) != std::string::npos);
}

TEST_CASE("an agreement comes back, and is kept once", "[store]") {
  const test::TempFolder folder;
  Store store = Store::open(folder.file("r.sqlite"));
  const std::string run_id = store.open_run(test::some_request()).run().id;
  const AgreementRow row = some_agreement(run_id);
  CHECK(store.add(row));
  CHECK_FALSE(store.add(some_agreement(run_id)));
  CHECK(store.agreements({.run_id = run_id}) == std::vector<AgreementRow>{row});
  CHECK(store.agreements({.variant = "streamed"}).empty());
  CHECK(row.agreement.share() == 63.0 / 64);
}

TEST_CASE("run_result_summary spells out a result", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("r.sqlite");
  Store::open(path).add(ended_run("r1"), {}, test::some_result("r1", "2026-01-02", 100));
  SQLite::Database db(path);
  CHECK(db.execAndGet("SELECT device || ' ' || model || ' ' || seq_len || ' ' || tokens_per_s || "
                      "' ' || share_of_peak FROM run_result_summary")
            .getString() == "Some CPU tiny 256 100.0 0.5");
}
