// import(export(x)) = x for the formats that carry everything, and a projection for the others.
#include <algorithm>
#include <cmath>
#include <map>

#include "../schemas/filled.hpp"
#include "catch.hpp"
#include "exchange_support.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/schemas/median.hpp"

namespace nsa::exchange {
namespace {

using test::some_results;
using test::texts_of;
using test::there_and_back;

TEST_CASE("formats with fields of our own give back every row as it was", "[exchange]") {
  for (const char* name : {"kernel_tuner", "t4", "nvbench", "google_benchmark"}) {
    const Format& format = find_format(name);
    const bool one_device = name == std::string("kernel_tuner") || name == std::string("t4");
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      CAPTURE(name, seed);
      const Results results = some_results(seed, one_device);
      const Imported again = there_and_back(format, results);
      CHECK(texts_of(again.rows) == texts_of(results.rows));
      CHECK(again.devices == results.devices);
      CHECK(texts_of(again.runs) == texts_of(results.runs));
    }
  }
}

TEST_CASE("our own JSON gives back every row and run as it was", "[exchange]") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    const Results results = some_results(seed, false);
    const Imported again = there_and_back(find_format("json"), results);
    CHECK(texts_of(again.rows) == texts_of(results.rows));
    CHECK(texts_of(again.runs) == texts_of(results.runs));
  }
}

/// A row without what a CSV has no column for.
Measurement as_in_csv(Measurement row) {
  row.job_key = "";
  row.problem.model.vocab_size = 0;
  if (row.samples_n > 0) row.median_ns = std::round(*row.median_ns);
  row.mad_ns.reset();
  row.samples_n = std::min<std::int64_t>(row.samples_n, 1);
  row.samples.clear();
  row.note = "";
  if (row.worst_row_error && std::isinf(*row.worst_row_error)) row.worst_row_error.reset();
  return row;
}

TEST_CASE("our own CSV gives back all that it has a column for", "[exchange]") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    const Results results = some_results(seed, false);
    const Imported again = there_and_back(find_format("csv"), results);
    std::vector<Measurement> expected, found;
    for (const Measurement& row : results.rows) expected.push_back(as_in_csv(row));
    for (const Measurement& row : again.rows) found.push_back(as_in_csv(row));
    CHECK(texts_of(found) == texts_of(expected));
    CHECK(again.runs.size() == results.runs.size());
  }
}

/// What a user's script reads: a column that moves or is renamed breaks it.
constexpr const char* kOwnCsv =
    "id,run_id,executor,host,device_uuid,direction,phase,batch,seq_lens,context_lens,"
    "q_heads,kv_heads,head_dim_k,head_dim_v,cmp_block,cmp_stride,sel_block,sel_count,"
    "window,dtype,pattern,overlap,model_dim,layers,stages,variant,point,source_hash,"
    "process,round,position,pair_id,control,held_out,launch,timer,cold,outcome,reason,"
    "note,verification,worst_row_error,first_call_ns,workspace_bytes,grow_events,"
    "need_varlen_n,need_varlen_k,need_sel_pack_n,need_sel_pack_l,median_ns,mad_ns,"
    "samples_n,flop,bytes,sm_mhz,memory_mhz,temperature_c,power_w,throttle,measured_at,"
    "device,run_started_at,build_id,environment_hash\n"
    "11111111-2222-4333-8444-555555555555,66666666-7777-4888-9999-aaaaaaaaaaaa,triton,host-a,"
    "GPU-0,backward,chunked_prefill,2,100;37,512;64,64,4,192,128,16,8,32,8,256,bf16,smooth,0.95,"
    "2560,30,score+attend_selected,fused,st=3.bq=64,9f2c,1,2,3,pair,true,true,graph,cupti,false,"
    "noisy,the clock fell,the timers differ,verified,0.0031,48211,1048576,2,1,2,3,4,18304.5,12.25,"
    "2,1200000000,34000000,1980,2619,45.5,650.25,sw_power_cap,2026-11-21T12:00:00.000Z,,"
    "2026-11-21T12:00:00.000Z,nsatune 0.1.0 (abc) g++ 12.2,ff00\n";

TEST_CASE("our own CSV has these columns and cells", "[exchange]") {
  const Measurement row = test::filled_measurement();
  const Results results{{}, {row}, {{test::filled_run(), {}}}};
  CHECK(find_format("csv").write(results, "").text == kOwnCsv);
}

TEST_CASE("a CSV that was cut within a row, or has a cell too many, is refused", "[exchange]") {
  const auto refusal = [](const char* format, const std::string& text) {
    try {
      test::read_text(format, text);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("taken");
  };
  const std::string text = kOwnCsv;
  CHECK(refusal("csv", text) == "taken");
  CHECK(refusal("csv", text.substr(0, text.rfind(",nsatune"))).starts_with("file: row 1 has "));
  CHECK(refusal("csv", text.substr(0, text.size() - 1) + ",1\n").starts_with("file: row 1 has "));
  const std::string otava = find_format("otava").write(some_results(3, true), "").text;
  CHECK(refusal("otava", otava) == "taken");
  CHECK(refusal("otava", otava.substr(0, otava.rfind(',')) + "\n")
            .find(" cells where the header has ") != std::string::npos);
  CHECK(refusal("otava", otava.substr(0, otava.find('\n') - 5)) == "file: holds no result");
}

TEST_CASE("a CSV gives nothing that no other part of the program takes", "[exchange]") {
  Measurement row = test::filled_measurement();
  const auto refusal = [&](const auto& change) {
    Measurement changed = row;
    change(changed);
    const Results results{{}, {changed}, {{test::filled_run(), {}}}};
    try {
      test::read_text("csv", find_format("csv").write(results, "").text);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const auto says = [](const std::string& text, const char* part) {
    return text.starts_with("file: row 1: ") && text.find(part) != std::string::npos;
  };
  CHECK(refusal([](Measurement&) {}).empty());
  CHECK(says(refusal([](Measurement& m) { m.variant.name = "a b"; }), "letters, digits, _ and -"));
  CHECK(says(refusal([](Measurement& m) { m.variant.point = {{"bq", -3}}; }), "below 0"));
  CHECK(says(refusal([](Measurement& m) { m.executor = ""; }), "executor: "));
  CHECK(says(refusal([](Measurement& m) { m.measured_at = "yesterday"; }), "is no time such as"));
  CHECK(says(refusal([](Measurement& m) { m.measured_at = "2026-13-45T99:00:00Z"; }), "no time"));
  CHECK(says(refusal([](Measurement& m) { m.workspace_bytes = -1; }), "workspace_bytes: "));
  CHECK(says(refusal([](Measurement& m) { m.cost.flop = -5; }), "flop: "));
}

TEST_CASE("a device keeps its back end where a format does not say it", "[exchange]") {
  const auto backend = [](const std::string& uuid, Timer timer, const char* format) {
    Measurement row = test::filled_measurement();
    row.outcome = Outcome::ok;
    row.held_out = false;
    row.control = false;
    row.verification = Verification::verified;
    row.placement = {{"host", uuid}};
    row.timer = timer;
    Device device;
    device.name = "some";
    device.uuid = uuid;
    const Results results{{device}, {row}, {{test::filled_run(), {}}}};
    return test::there_and_back(find_format(format), results).devices.at(0).backend;
  };
  for (const char* format : {"csv", "otava", "tunableop"}) {
    CAPTURE(format);
    CHECK(backend("CPU-0123", Timer::host, format) == Backend::cpu);
    CHECK(backend("GPU-0123", Timer::host, format) == Backend::cuda);
    CHECK(backend("made-up", Timer::host, format) == Backend::cpu);
    CHECK(backend("made-up", Timer::events, format) == Backend::cuda);
  }
}

TEST_CASE("a byte order mark before a CSV is no part of its header", "[exchange]") {
  const std::string mark = "\xef\xbb\xbf";
  CHECK(test::read_text("csv", mark + kOwnCsv).rows.size() == 1);
  const std::string otava = find_format("otava").write(some_results(3, true), "").text;
  CHECK(texts_of(test::read_text("otava", mark + otava).rows) ==
        texts_of(test::read_text("otava", otava).rows));
  for (const char* name : {"decode.csv", "selection.csv", "guard.json"}) {
    CAPTURE(name);
    const std::string& text = test::made_up_files().at(name);
    CHECK(test::read_text("nsa_vibe", mark + text).rows.size() ==
          test::read_text("nsa_vibe", text).rows.size());
  }
}

TEST_CASE("a CSV from before there were notes has none", "[exchange]") {
  std::string text = kOwnCsv;
  text.replace(text.find(",note,"), 6, ",else,");
  CHECK(test::read_text("csv", text).rows.at(0).note == "one sample: the median of 2");
  text.replace(text.find(",timer,"), 7, ",other,");
  CHECK_THROWS_WITH(test::read_text("csv", text), "file: row 1: has no column timer");
}

TEST_CASE("a reason that a spreadsheet would run comes back as it was", "[exchange]") {
  Results results = some_results(1, true);
  for (Measurement& row : results.rows) row.reason = "=cmd,\"x\"\nnext";
  for (const Measurement& row : there_and_back(find_format("csv"), results).rows)
    CHECK(row.reason == "=cmd,\"x\"\nnext");
}

TEST_CASE("no cell of a CSV format is a formula, and names come back as they were", "[exchange]") {
  for (const char* name : {"=cmd|1", "'=cmd|1", "-1+1", "@now", "+cell", "'' quoted", "-5"}) {
    Results results = some_results(1, true);
    for (Measurement& row : results.rows) row.executor = name;
    for (Device& device : results.devices) device.name = name;
    for (const char* format : {"csv", "otava", "tunableop"}) {
      INFO(format << " " << name);
      const Bundle bundle = find_format(format).write(results, "x");
      for (const char* begin : {",=", ",@", ",+", ",-1+"})
        CHECK(bundle.text.find(begin) == std::string::npos);
      const Imported again = test::read_bundle(find_format(format), bundle);
      CHECK_FALSE(again.rows.empty());
      for (const Measurement& row : again.rows) CHECK(row.executor == name);
      REQUIRE_FALSE(again.devices.empty());
      if (format == std::string_view("csv")) continue;  // names devices by their runs
      for (const Device& device : again.devices) CHECK(device.name == name);
    }
  }
}

TEST_CASE("what comes back goes there and back unchanged", "[exchange]") {
  for (const Format& format : formats()) {
    if (!format.write) continue;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      CAPTURE(format.name, seed);
      const Imported once = there_and_back(format, some_results(seed, true));
      const Imported twice = there_and_back(format, once);
      CHECK(texts_of(twice.rows) == texts_of(once.rows));
    }
  }
}

TEST_CASE("nvbench rounds device times to float32, and nothing else", "[exchange]") {
  Results results = some_results(3, true);
  for (Measurement& row : results.rows) {
    for (Sample& sample : row.samples) sample.device_ns = 123'456'789'012;
  }
  const Imported again = there_and_back(find_format("nvbench"), results);
  REQUIRE(again.rows.size() == results.rows.size());
  for (const Measurement& row : again.rows) {
    for (const Sample& sample : row.samples) {
      const double seconds = static_cast<float>(123.456789012);
      CHECK(sample.device_ns == std::llround(seconds * 1e9));
    }
  }
}

/// The rows that say how fast a variant is, by executor, problem, variant and policy.
std::map<std::string, std::vector<const Measurement*>> configurations(const Results& results,
                                                                      bool by_run) {
  std::map<std::string, std::vector<const Measurement*>> found;
  for (const Measurement& row : results.rows) {
    if (row.outcome != Outcome::ok || row.control || row.held_out) continue;
    if (row.verification == Verification::wrong_result) continue;
    found[(by_run ? row.run_id : "") + to_string(row.variant) + Json(row.problem).dump() +
          (row.cold ? "c" : "h")]
        .push_back(&row);
  }
  return found;
}

void check_kept(const Measurement& back, const Measurement& row) {
  CHECK(back.problem == row.problem);
  CHECK(back.variant == row.variant);
  CHECK(back.executor == row.executor);
  CHECK(back.placement[0].device_uuid == row.placement[0].device_uuid);
  CHECK(back.timer == row.timer);
  CHECK(back.launch == row.launch);
  CHECK(back.cold == row.cold);
  CHECK(back.verification == Verification::unverified);
  CHECK(back.samples_n == 1);
  CHECK_FALSE(back.note.empty());
}

TEST_CASE("TunableOp keeps the mean of each variant on each problem", "[exchange]") {
  const Results results = some_results(5, true);
  const auto expected = configurations(results, false);
  const Imported again = there_and_back(find_format("tunableop"), results);
  CHECK(again.rows.size() == expected.size());
  for (const Measurement& back : again.rows) {
    const auto& rows =
        expected.at(to_string(back.variant) + Json(back.problem).dump() + (back.cold ? "c" : "h"));
    double sum = 0, n = 0;
    for (const Measurement* row : rows) {
      check_kept(back, *row);
      for (const Sample& sample : row->samples) {
        sum += static_cast<double>(sample.device_ns);
        ++n;
      }
    }
    CHECK(back.samples[0].device_ns == std::llround(sum / n));
  }
}

TEST_CASE("Otava keeps a median for each run, variant and problem", "[exchange]") {
  const Results results = some_results(6, true);
  const auto expected = configurations(results, true);
  const Imported again = there_and_back(find_format("otava"), results);
  CHECK(again.rows.size() == expected.size());
  for (const Measurement& back : again.rows) {
    const auto& rows = expected.at(back.run_id + to_string(back.variant) +
                                   Json(back.problem).dump() + (back.cold ? "c" : "h"));
    std::vector<double> medians;
    for (const Measurement* row : rows) {
      check_kept(back, *row);
      medians.push_back(*row->median_ns);
    }
    CHECK(back.samples[0].device_ns == std::llround(std::nearbyint(median(medians))));
  }
}

TEST_CASE("a format of one device refuses rows of two", "[exchange]") {
  for (const char* name : {"kernel_tuner", "t4", "tunableop"}) {
    CHECK_THROWS_AS(find_format(name).write(some_results(1, false), "out"), InputError);
  }
}

TEST_CASE("the first line of an op is its winner", "[exchange]") {
  const std::string csv = find_format("tunableop").write(some_results(5, true), "out").text;
  std::map<std::string, double> last;
  std::size_t at = 0;
  while (at < csv.size()) {
    const std::string line = csv.substr(at, csv.find('\n', at) - at);
    at += line.size() + 1;
    if (line.starts_with("Validator")) continue;
    const std::size_t second = line.find(',', line.find(',') + 1);
    const double ms = std::stod(line.substr(line.rfind(',') + 1));
    const auto [known, first] = last.emplace(line.substr(0, second), ms);
    if (!first) CHECK(ms >= known->second);
    known->second = ms;
  }
  CHECK(last.size() > 1);
}

TEST_CASE("the documentation has the table of formats", "[exchange]") {
  const std::string text = read_text_file(std::string(NSA_SOURCE_DIR) + "/docs/exchange.md");
  CHECK(text.find(formats_markdown()) != std::string::npos);
}

}  // namespace
}  // namespace nsa::exchange
