// What is read from logs, scripts and texts of others, in the forms that they have.
#include "catch.hpp"
#include "gather/log_signals.hpp"
#include "nsa/doctor/gather.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::test {

TEST_CASE("throughput is read from the forms that logs have", "[doctor]") {
  CHECK(doctor::tok_per_s_of("step 20 | 39.5 toks/s") == Approx(39.5));
  CHECK(doctor::tok_per_s_of("step 20 | ~9,200 tok/s") == Approx(9200));
  CHECK(doctor::tok_per_s_of("\"toks_per_s\": 12.0, \"loss\": 3") == Approx(12));
  CHECK(doctor::tok_per_s_of("tokens_per_sec=7") == Approx(7));
  CHECK(doctor::tok_per_s_of("tok/s: 5.5") == Approx(5.5));
  CHECK(doctor::tok_per_s_of("loss 3.1 tokens/s: 18400") == Approx(18400));
  CHECK(doctor::tok_per_s_of("loss: 5.71, tok/s: 18400") == Approx(18400));
  CHECK(doctor::tok_per_s_of("step=7 loss=3.21, tok/s=18400") == Approx(18400));
  CHECK(doctor::tok_per_s_of("step=7 tok/s=18400") == Approx(18400));
  CHECK(doctor::tok_per_s_of("step 7, loss 3, tok/s 18400") == Approx(18400));
  CHECK(doctor::tok_per_s_of("step 1 loss 5.71 9.2e+03 tok/s") == Approx(9200));
  CHECK(doctor::tok_per_s_of("step 1 loss 5.71 tok/s 9200") == Approx(9200));
  CHECK(doctor::tok_per_s_of("step 1 tok/s 9200 lr 3e-4") == Approx(9200));
  CHECK(doctor::tok_per_s_of("step 7 18400 tok/s 2.1 ms") == Approx(18400));
  CHECK(doctor::tok_per_s_of("loss 5.71 tok/s: 12.3k") == Approx(12300));
  CHECK(doctor::tok_per_s_of("12.3k tok/s, loss 2") == Approx(12300));
  CHECK(doctor::tok_per_s_of("1.2m tok/s") == Approx(1.2e6));
  CHECK(doctor::tok_per_s_of("18400 tok/s/gpu") == Approx(18400));
  CHECK(doctor::tok_per_s_of("tok_per_s:18,400") == Approx(18400));
  CHECK(doctor::tok_per_s_of("tokens_per_sec=18,400, loss=3") == Approx(18400));
  CHECK(doctor::tok_per_s_of("tokens/second: 1,018,400.5") == Approx(1018400.5));
  CHECK(doctor::tok_per_s_of("speed (tok/s): 18400") == Approx(18400));
  CHECK(doctor::tok_per_s_of("500 steps, 3 tok/step, 18400 tok/s") == Approx(18400));
  CHECK(doctor::tok_per_s_of("https: //x 7 tps=18400") == Approx(18400));
  CHECK_FALSE(doctor::tok_per_s_of("12.3 ktok/s"));
  CHECK_FALSE(doctor::tok_per_s_of("loss 3.1 tok/s=nan"));
  CHECK_FALSE(doctor::tok_per_s_of("tok/s is what we print"));
  CHECK_FALSE(doctor::tok_per_s_of("toks_per_s=nan"));
}

TEST_CASE("a traceback and the exception that ends it are one crash", "[doctor]") {
  using doctor::Signal;
  doctor::LogReader reader("run.log");
  const auto take_one = [&] {
    reader.take("Traceback (most recent call last):");
    reader.take("  File \"train.py\", line 3, in <module>");
    reader.take("RuntimeError: CUDA error: an illegal memory access was encountered");
  };
  take_one();
  CHECK(reader.log().signals.at(Signal::crash).count == 1);
  CHECK(reader.log().signals.at(Signal::crash).last_line == 3);
  take_one();
  CHECK(reader.log().signals.at(Signal::crash).count == 2);
  reader.take("RuntimeError: CUDA error: out of nothing");  // of no traceback
  CHECK(reader.log().signals.at(Signal::crash).count == 3);
}

TEST_CASE("a progress bar's carriage returns part its figures", "[doctor]") {
  doctor::LogReader reader("run.log");
  reader.take("1/3, tok/s=18400\r2/3, tok/s=18500\r3/3, tok/s=18600\r");
  CHECK(reader.log().tok_per_s == std::vector<double>{18400, 18500, 18600});
  CHECK(reader.log().lines == 1);
}

TEST_CASE("a word that is denied, or stands for another setting, is no signal", "[doctor]") {
  for (const char* line :
       {"namespace(gradient_checkpointing=false, compile=true)",
        "gradient checkpointing enabled: false", "gradient checkpointing: not enabled",
        "gradient_checkpointing_kwargs={'use_reentrant': true}", "gradient_checkpointing: 0",
        "anomaly detection enabled: false", "anomaly mode: off",
        "sdpa backends allowed: flash, efficient, math; fallback off",
        "processgroupnccl environments: torch_nccl_dump_on_timeout: 0, torch_nccl_enable_timing: "
        "0, watchdog heartbeat monitor: 1"}) {
    CAPTURE(line);
    CHECK(doctor::signals_of(line).empty());
  }
  using doctor::Signal;
  for (const auto& [line, signal] :
       {std::pair{"namespace(gradient_checkpointing=true, compile=false)", Signal::checkpointing},
        std::pair{"'gradient_checkpointing': true", Signal::checkpointing},
        std::pair{"gradient checkpointing enabled (use_reentrant=false)", Signal::checkpointing},
        std::pair{"gradient checkpointing is enabled", Signal::checkpointing},
        std::pair{"anomaly detection enabled", Signal::anomaly_mode},
        std::pair{"sdpa: falling back to math", Signal::sdpa_fallback},
        std::pair{"watchdog caught collective operation timeout: worknccl", Signal::watchdog},
        std::pair{"nccl watchdog timed out, dumping stacks", Signal::watchdog}}) {
    CAPTURE(line);
    CHECK(doctor::signals_of(line) == std::vector<Signal>{signal});
  }
}

TEST_CASE("memory and utilisation are read from the forms that tools have", "[doctor]") {
  CHECK(doctor::gpu_percent_of("0, 24117 mib, 88 %") == Approx(88));
  CHECK_FALSE(doctor::gpu_percent_of("index, memory.used [mib], utilization.gpu [%]"));
  CHECK_FALSE(doctor::gpu_percent_of("0, 24117 mib, 188 %"));
  CHECK(doctor::bytes_before("and 512.00 mib is reserved by x", "is reserved by") ==
        Approx(536870912.0));
  CHECK_FALSE(doctor::bytes_before("and much is reserved by x", "is reserved by"));
}

TEST_CASE("variables are read from a script, a prefix and another process", "[doctor]") {
  doctor::Settings set;
  CHECK(doctor::read_assignments("export A='x y' B=\"2\" # no C=3", 4, set));
  CHECK(set.size() == 2);
  CHECK(set["A"].value == "x y");
  CHECK(set["B"].line == 4);
  CHECK_FALSE(doctor::read_assignments("python train.py --x=3", 1, set));
  const auto process =
      doctor::parse_environment_file(std::string("A=1\0NSA_X=two words\0", 20), "environ");
  CHECK(process.variables.at("NSA_X").value == "two words");
}

TEST_CASE("text of others is cut and cleaned", "[doctor]") {
  CHECK(doctor::clean("a\x1b[31m\x7f\xc2\x9b"
                      "b\n") == "a?[31m???b?");
  CHECK(doctor::clean("h\xc3\xa9llo") == "h\xc3\xa9llo");
  CHECK(doctor::clean(std::string(500, 'x')).size() == 203);
  CHECK(doctor::clean("aaaa\xc3\xa9", 5) == "aaaa...");
}

}  // namespace nsa::test
