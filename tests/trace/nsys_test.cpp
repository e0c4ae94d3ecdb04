// SQLite exports of Nsight Systems, made here with the tables that a reader needs.
#include <sqlite3.h>
#include <unistd.h>

#include "catch.hpp"
#include "nsa/schemas/error.hpp"
#include "text.hpp"
#include "traces.hpp"

namespace nsa::test {
namespace {

constexpr const char* kTables = R"(
  CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
  CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (
    start, end, deviceId, streamId, correlationId, globalPid, demangledName);
  CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (
    start, end, deviceId, streamId, correlationId, globalPid, copyKind);
  CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId);
  CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD (start, end, nameId);
  CREATE TABLE NVTX_EVENTS (start, end, eventType, text, textId, globalTid, endGlobalTid);
  INSERT INTO StringIds VALUES (1, 'attend_k<64>(float*)'), (2, 'cudaLaunchKernel_v7000'),
    (3, 'cudaMemcpyAsync_v3020'),
    (4, 'cudaStreamSynchronize_v3020'), (5, 'attend_selected'), (6, 'Buffer flush'),
    (7, 'Command Buffer Full');
)";
// Two processes (global id 1 << 24 and 2 << 24) use the same correlation ids and the same stream.
constexpr const char* kRows = R"(
  INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
    (1000, 1500, 0, 7, 1, 16777216, 1), (3000, 3100, 0, 7, 1, 33554432, 1);
  INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (2000, 2200, 0, 7, 2, 16777216, 1);
  INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
    (900, 950, 16777316, 1, 2), (1900, 1950, 16777316, 2, 3),
    (2500, 2550, 33554532, 1, 2), (2560, 2700, 33554532, 3, 4);
  INSERT INTO CUPTI_ACTIVITY_KIND_OVERHEAD VALUES (1600, 1650, 6), (1700, 1800, 7);
  INSERT INTO NVTX_EVENTS VALUES
    (800, 1000, 59, NULL, 5, 16777316, NULL),
    (2400, 2600, 59, 'step 1', NULL, 33554532, NULL),
    (0, NULL, 34, 'mark', NULL, 16777316, NULL);
)";

/// A database out of SQL, and what reading it says.
class Database {
 public:
  explicit Database(const std::string& sql) : file_("") {
    sqlite3* db = nullptr;
    REQUIRE(sqlite3_open(file_.path().c_str(), &db) == SQLITE_OK);
    char* error = nullptr;
    sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &error);
    const std::string message = error ? error : "";
    sqlite3_free(error);
    sqlite3_close(db);
    INFO(message);
    REQUIRE(message.empty());
  }
  trace::Trace read() const { return trace::read_trace(file_.path()); }
  std::string refusal() const {
    try {
      trace::summarize(read());
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  }

 private:
  TemporaryFile file_;
};

std::string refusal_of(const std::string& change) {
  return Database(std::string(kTables) + kRows + change).refusal();
}
}  // namespace

TEST_CASE("an export of Nsight Systems is read with its processes apart", "[trace]") {
  const trace::Trace t = Database(std::string(kTables) + kRows).read();
  const trace::Summary s = trace::summarize(t);
  CHECK(s.format == "nsys_sqlite");
  CHECK(s.gpu->kernels == 2);
  CHECK(s.gpu->memops == 1);
  CHECK(s.gpu->span_ns == 2100);
  CHECK(s.gpu->same_stream_overlaps == 0);
  CHECK(s.launch_apis ==
        std::map<std::string, std::int64_t>{{"cudaLaunchKernel", 2}, {"cudaMemcpyAsync", 1}});
  CHECK(s.launch_to_start_ns->max == 500);  // of the second process: 3000 - 2500
  CHECK(s.kernels_by_name->at(0).name == "attend_k<64>(float*)");
  CHECK(s.host_syncs->at(0).api == "cudaStreamSynchronize");
  CHECK(s.gpu->idle_by_class_ns.profiler_overhead == 50);
  REQUIRE(s.stages->size() == 1);
  CHECK(s.stages->at(0).stage == "attend_selected");
  CHECK(s.stages->at(0).total_ns == 500);
  CHECK(s.unattributed_ns == 300);
  REQUIRE(s.steps->size() == 1);
  CHECK(s.steps->at(0).gpu->kernels == 1);
  CHECK(s.devices.at(0).streams.size() == 2);
}

TEST_CASE("a SQLite file that is no export, or a part of one, is refused with the table",
          "[trace]") {
  CHECK(contains(Database("CREATE TABLE results (a); INSERT INTO results VALUES (1);").refusal(),
                 "table StringIds: is missing"));
  CHECK(contains(refusal_of("DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME;"),
                 "table CUPTI_ACTIVITY_KIND_RUNTIME: is missing"));
  CHECK(contains(refusal_of("DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL;"),
                 "table CUPTI_ACTIVITY_KIND_KERNEL: is missing"));
  CHECK(contains(refusal_of("DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY;"),
                 "table CUPTI_ACTIVITY_KIND_MEMCPY: is missing or empty"));
  CHECK(contains(refusal_of("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME COLUMN streamId TO s;"),
                 "streamId"));
  CHECK(contains(refusal_of("DELETE FROM StringIds WHERE id = 1;"), "StringIds"));
  CHECK(contains(refusal_of("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = 'soon';"),
                 "table CUPTI_ACTIVITY_KIND_KERNEL: row 1: column start"));
  CHECK(contains(refusal_of("UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET end = 1;"), "before its start"));
  CHECK(contains(refusal_of("UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET end = 9223372036854775807;"),
                 "104 days"));
  CHECK(contains(refusal_of("UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET start = -9223372036854775807;"),
                 "range"));
  CHECK(contains(refusal_of("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET deviceId = 5000000000;"),
                 "device"));
}

TEST_CASE("graphs that were recorded as a whole hide the figures of kernels, and no time",
          "[trace]") {
  const trace::Trace t = Database(std::string(kTables) + kRows + R"(
    CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (
      start, end, deviceId, streamId, correlationId, globalPid, graphId, graphExecId);
    INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (4000, 5000, 0, 7, 9, 16777216, 3, 4);)")
                             .read();
  const trace::Summary s = trace::summarize(t);
  CHECK(s.gpu.value().busy_ns == 500 + 100 + 200 + 1000);
  CHECK(s.sums.value().whole_graphs == 1);
  CHECK_FALSE(s.kernels_by_name);
  CHECK(s.null_reasons.at("kernels").find("--cuda-graph-trace=node") != std::string::npos);
}

TEST_CASE("an export says when and where it was recorded", "[trace]") {
  const std::string text = std::string(kTables) + kRows;
  const std::string session =
      "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);"
      "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1779630014975716426);"
      "CREATE TABLE TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT);"
      "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('CpuCores', '4'), ('Hostname', 'n1');";
  const std::string analysis =
      "CREATE TABLE ANALYSIS_DETAILS (startTime INTEGER); INSERT INTO ANALYSIS_DETAILS VALUES "
      "(35255823190);";
  CHECK_FALSE(trace::summarize(Database(text).read()).base_time_ns);
  CHECK_FALSE(trace::summarize(Database(text + session).read()).base_time_ns);
  const trace::Summary s = trace::summarize(Database(text + session + analysis).read());
  CHECK(s.base_time_ns == 1779629979719893236);
  CHECK(s.host == "n1");
}

TEST_CASE("tables without rows may be left out of an export", "[trace]") {
  const std::string text = std::string(kTables) + kRows;
  const auto s = trace::summarize(
      Database(text + "DROP TABLE CUPTI_ACTIVITY_KIND_OVERHEAD; DROP TABLE NVTX_EVENTS;").read());
  CHECK_FALSE(s.gpu->idle_by_class_ns.profiler_overhead.has_value());
  CHECK(s.null_reasons.count("idle_by_class_ns.profiler_overhead") == 1);
  CHECK(s.null_reasons.count("stages") == 1);
  const auto cpu = trace::summarize(
      Database(text +
               "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY; "
               "DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME;")
          .read());
  CHECK_FALSE(cpu.gpu.has_value());
}

}  // namespace nsa::test
