// Files that other programs wrote: what is taken from them, what is asked for, what is refused.
#include "catch.hpp"
#include "exchange_support.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::exchange {
namespace {

using test::read_text;
using test::users_file;

Mapping mapped(std::vector<std::pair<std::string, std::string>> axes) {
  Mapping mapping;
  mapping.stage = "attend_selected";
  mapping.axes = std::move(axes);
  return mapping;
}

std::string message_of(const std::string& format, const std::string& text,
                       const Mapping& mapping = {}) {
  try {
    read_text(format, text, mapping);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

constexpr const char* kCache =
    R"({"device_name": "NVIDIA A100", "kernel_name": "attend", "problem_size": [4096],
"tune_params_keys": ["block", "n", "layout"],
"tune_params": {"block": [64, 128], "n": [1024, 2048], "layout": ["row"]}, "objective": "time",
"cache": {
"64,1024,row": {"block": 64, "n": 1024, "layout": "row", "time": 0.5, "times": [0.4, 0.5, 0.6],
  "timestamp": "2024-03-01 10:00:00+00:00"},
"128,1024,row": {"block": 128, "n": 1024, "layout": "row", "time": "RuntimeFailedConfig"},
"64,2048,row": {"block": 64, "n": 2048, "layout": "row", "time": 1.25})";

TEST_CASE("a Kernel Tuner cache that was not closed is repaired", "[exchange]") {
  const auto check = [](const std::string& end) {
    CAPTURE(end);
    const Imported all = read_text("kernel_tuner", kCache + end, mapped({{"seq_len", "n"}}));
    REQUIRE(all.rows.size() == 3);
  };
  check("}\n}");
  check("");
  check(",");
  check(",\n");
  check("}}");  // ends in "}}}"
  check("}\r\n}\r\n");
  check(",\r\n");
}

TEST_CASE("a Kernel Tuner cache gives raw samples, failures and a device of its own",
          "[exchange]") {
  const Imported all = read_text("kernel_tuner", kCache, mapped({{"seq_len", "n"}}));
  CHECK(all.devices.at(0).name == "NVIDIA A100");
  CHECK(all.devices[0].uuid.starts_with("named-"));
  const Measurement& failed = all.rows[0];  // keys are sorted: "128,..." first
  CHECK(failed.outcome == Outcome::crashed);
  CHECK(failed.reason == "RuntimeFailedConfig");
  const Measurement& raw = all.rows[1];
  CHECK(raw.samples_n == 3);
  CHECK(raw.median_ns == 500'000);
  CHECK(raw.note.empty());
  CHECK(raw.executor == "kernel_tuner");
  CHECK(raw.timer == Timer::host);
  CHECK(raw.verification == Verification::unverified);
  CHECK(raw.problem.seq_lens == std::vector<std::int64_t>{1024});
  CHECK(to_string(raw.variant) == "attend_selected/attend-row.block=64");
  const Measurement& mean = all.rows[2];
  CHECK(mean.samples_n == 1);
  CHECK(mean.note.find("mean") != std::string::npos);
}

TEST_CASE("a file that says nothing of NSA names what is missing and what it has", "[exchange]") {
  const std::string message = message_of("kernel_tuner", kCache);
  CHECK(message.find("--stage NAME") != std::string::npos);
  CHECK(message.find("--axis seq_len=PARAMETER") != std::string::npos);
  CHECK(message.find("block, n, layout") != std::string::npos);
  CHECK(message_of("kernel_tuner", kCache, mapped({{"seq_len", "m"}})).find("'m'") !=
        std::string::npos);
  CHECK(message_of("kernel_tuner", kCache, mapped({{"seq_len", "layout"}})).find("row") !=
        std::string::npos);
  CHECK(message_of("kernel_tuner", kCache, mapped({{"colour", "n"}})).find("colour") !=
        std::string::npos);
}

TEST_CASE("compressed tokens are turned into the tokens of which they are made", "[exchange]") {
  const Imported all = read_text("kernel_tuner", kCache, mapped({{"compressed_len", "block"}}));
  for (const Measurement& row : all.rows)
    CHECK((row.problem.max_compressed() == 64 || row.problem.max_compressed() == 128));
  CHECK(all.rows[0].problem.seq_lens[0] == 127 * 16 + 32);
}

TEST_CASE("T4 says what was invalid, and its hard-coded correctness proves nothing", "[exchange]") {
  const std::string text = R"({"schema_version": "1.0.0", "metadata": {"timeunit": "miliseconds"},
    "results": [
    {"configuration": {"n": 512}, "times": {"runtimes": [0.25, 0.75]}, "invalidity": "correct",
     "correctness": 1},
    {"configuration": {"n": 512}, "times": {}, "invalidity": "timeout", "correctness": 1},
    {"configuration": {"n": 512}, "times": {"runtimes": [1]}, "invalidity": "correctness",
     "correctness": 0},
    {"configuration": {"n": 512}, "times": {}, "invalidity": "correct", "correctness": 1,
     "measurements": [{"name": "time", "value": 2, "unit": "us"}]}]})";
  const Imported all = read_text("t4", text, mapped({{"seq_len", "n"}}));
  REQUIRE(all.rows.size() == 4);
  CHECK(all.rows[0].median_ns == 500'000);
  CHECK(all.rows[0].verification == Verification::unverified);
  CHECK(all.rows[1].outcome == Outcome::timeout);
  CHECK(all.rows[2].verification == Verification::wrong_result);
  CHECK(all.rows[3].median_ns == 2'000);
}

constexpr const char* kNvbench =
    R"({"devices": [{"id": 0, "name": "NVIDIA H100"}], "benchmarks": [{"name": "attend",
    "states": [{"device": 0, "is_skipped": false,
      "axis_values": [{"name": "S", "type": "int64", "value": "1024"}],
      "summaries": [{"tag": "nv/cold/time/gpu/mean", "data": [{"name": "value", "type": "float64",
        "value": "1.5e-05"}]}]},
     {"device": 0, "is_skipped": true, "skip_reason": "too large",
      "axis_values": [{"name": "S", "type": "int64", "value": "2048"}], "summaries": []}]}]})";

TEST_CASE("nvbench without sidecars gives its statistic, and says which", "[exchange]") {
  const Imported all = read_text("nvbench", kNvbench, mapped({{"seq_len", "S"}}));
  REQUIRE(all.rows.size() == 2);
  CHECK(all.devices[0].name == "NVIDIA H100");
  CHECK(all.rows[0].median_ns == 15'000);
  CHECK(all.rows[0].timer == Timer::events);
  CHECK(all.rows[0].cold);
  CHECK(all.rows[0].note == "one sample: mean of the cold samples");
  CHECK(all.rows[1].outcome == Outcome::unsupported);
  CHECK(all.rows[1].reason == "skipped: too large");
}

TEST_CASE("nvbench's sidecars lie beside it, and nowhere else", "[exchange]") {
  for (const std::string name : {"/etc/passwd", "../secret.bin", "a/../../b.bin"}) {
    std::string text = kNvbench;
    text.replace(text.find("nv/cold/time/gpu/mean"), 21, "nv/json/bin:nv/cold/sample_times");
    const std::string data = R"({"name": "value", "type": "float64",
        "value": "1.5e-05"})";
    text.replace(
        text.find(data), data.size(),
        R"({"name": "filename", "value": ")" + name + R"("}, {"name": "size", "value": "1"})");
    CHECK(message_of("nvbench", text, mapped({{"seq_len", "S"}})).find("beside") !=
          std::string::npos);
  }
}

TEST_CASE("Google Benchmark's repetitions are samples, in any unit", "[exchange]") {
  const std::string text = R"({"context": {"host_name": "box"}, "benchmarks": [
    {"name": "BM_a/1024/d:64", "run_type": "iteration", "iterations": 100, "real_time": 2.5,
     "cpu_time": 2, "time_unit": "us"},
    {"name": "BM_a/1024/d:64", "run_type": "iteration", "iterations": 100, "real_time": 3.5,
     "cpu_time": 2, "time_unit": "us"},
    {"name": "BM_b/1024/d:64_median", "run_name": "BM_b/1024/d:64", "run_type": "aggregate",
     "aggregate_name": "median", "real_time": 7, "cpu_time": 7, "time_unit": "ms"},
    {"name": "BM_c/1024/d:64", "error_occurred": true, "error_message": "no memory"}]})";
  const Imported all =
      read_text("google_benchmark", text, mapped({{"seq_len", "arg0"}, {"head_dim_k", "d"}}));
  REQUIRE(all.rows.size() == 3);
  CHECK(all.rows[0].samples_n == 2);
  CHECK(all.rows[0].median_ns == 3'000);
  CHECK(all.rows[0].note == "each sample is the mean of 100 iterations");
  CHECK(all.rows[1].median_ns == 7'000'000);
  CHECK(all.rows[2].outcome == Outcome::crashed);
  CHECK(all.devices[0].backend == Backend::cpu);
  CHECK(to_string(all.rows[0].variant) == "attend_selected/BM_a");
}

TEST_CASE("TunableOp's files give one sample each and no time of zero", "[exchange]") {
  const std::string text =
      "Validator,PT_VERSION,2.5.0\nValidator,GCN_ARCH_NAME,gfx942\n"
      "GemmTunableOp_float_NN,nn_1024_64,Gemm_Hipblaslt_12,0.0125\n"
      "GemmTunableOp_float_NN,nn_2048_64,Default,0\n";
  const Imported all = read_text("tunableop", text, mapped({{"seq_len", "p1"}}));
  REQUIRE(all.rows.size() == 2);
  CHECK(all.devices[0].name == "gfx942");
  CHECK(all.rows[0].median_ns == 12'500);
  CHECK(all.rows[0].problem.seq_lens[0] == 1024);
  CHECK(all.rows[1].outcome == Outcome::bad_reply);
  CHECK(all.rows[1].samples.empty());
}

TEST_CASE("series of Otava become rows by what the user says of them", "[exchange]") {
  Mapping mapping;
  mapping.stage = "attention";
  mapping.fixed = {{"seq_len", "4096"}, {"dtype", "bf16"}};
  const Imported all = read_text("otava",
                                 "time,branch,fused,masked\n2024-01-01T00:00:00Z,main,1.5,2.5\n"
                                 "2024-01-02T00:00:00Z,main,1.25,\n",
                                 mapping);
  REQUIRE(all.rows.size() == 3);
  CHECK(to_string(all.rows[0].variant) == "attention/fused");
  CHECK(all.rows[0].problem.dtype == Dtype::bf16);
  CHECK(all.rows[2].median_ns == 1'250'000);
  CHECK(all.rows[2].measured_at == "2024-01-02T00:00:00Z");
}

TEST_CASE("commits of Otava's files are no times, whatever they look like", "[exchange]") {
  Mapping mapping;
  mapping.stage = "attention";
  mapping.fixed = {{"seq_len", "4096"}};
  for (const std::string commit : {"8317e52", "8317052", "123456"}) {
    CAPTURE(commit);
    const Imported rows = read_text("otava",
                                    "time,Commit,host,fused\n2024-01-01T00:00:00Z," + commit +
                                        ",1,1.5\n2024-01-02T00:00:00Z,abcdef0,n2,null\n",
                                    mapping);
    REQUIRE(rows.rows.size() == 1);  // of a column of which one cell is no number, none is a time
    CHECK(to_string(rows.rows[0].variant) == "attention/fused");
  }
  CHECK(message_of("otava", "time,n,fused\n1,512,1e30\n", mapped({{"seq_len", "n"}}))
            .find("row 1, fused: ") != std::string::npos);
}

TEST_CASE("a file of Otava without results says which columns it has, and what to add",
          "[exchange]") {
  const auto said = [](const std::string& text) {
    return message_of("otava", text, mapped({{"seq_len", "n"}}));
  };
  const std::string add = "; add a column of times in ms for each series";
  CHECK(said("n\n512\n").ends_with("the first, 'n', is taken as the time" + add));
  CHECK(
      said("time,n\n1,512\n")
          .ends_with("the first, 'time', is taken as the time, and --axis names all others" + add));
  CHECK(said("time,n,a,a\n1,512,1,2\n").ends_with("two columns are 'a'; rename one"));
  CHECK(said("time,n,a\n").ends_with(": has no line after its header; add one for each run"));
  CHECK(said("time,n,a\n1,512,slow\n")
            .ends_with("has no number in its columns of results; otava expects times in ms"));
}

TEST_CASE("what is no file of a format is one line that says so", "[exchange]") {
  for (const Format& format : formats()) {
    for (const std::string text : {"", "{}", "[]", "null", "{\"cache\": 5}", "a,b\n1,2\n",
                                   "\"unclosed,1\n", "\x01\x02", "\xff\xfe"}) {
      CAPTURE(format.name, text);
      const std::string message =
          message_of(std::string(format.name), text, mapped({{"seq_len", "n"}}));
      CHECK_FALSE(message.empty());
      CHECK(message.find('\n') == std::string::npos);
    }
  }
}

TEST_CASE("times that are none, and numbers beyond all measure, are refused", "[exchange]") {
  const auto cache = [](const std::string& time) {
    return R"({"kernel_name": "k", "tune_params_keys": ["n"], "cache": {"1": {"n": 512, "time": )" +
           time + "}\n}\n}";
  };
  const Mapping mapping = mapped({{"seq_len", "n"}});
  CHECK(read_text("kernel_tuner", cache("0.5"), mapping).rows.size() == 1);
  CHECK(message_of("kernel_tuner", cache("1e999"), mapping).find("too large") != std::string::npos);
  CHECK(message_of("kernel_tuner", cache("1e19"), mapping).find("eleven days") !=
        std::string::npos);
  CHECK(read_text("kernel_tuner", cache("1e20"), mapping).rows[0].outcome == Outcome::crashed);
  CHECK(read_text("kernel_tuner", cache("-1"), mapping).rows[0].outcome == Outcome::bad_reply);
  CHECK(message_of("kernel_tuner", cache("NaN"), mapping).find("not JSON") != std::string::npos);
  const std::string deep(100, '[');
  CHECK(message_of("kernel_tuner", deep, mapping).find("64 levels") != std::string::npos);
}

}  // namespace
}  // namespace nsa::exchange
