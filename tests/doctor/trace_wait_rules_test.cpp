// Rules over traces: a host that waits, and allocations.
#include "trace_rules.hpp"

namespace nsa::test {

TEST_CASE("a wait now and then is not said to be none a step", "[doctor]") {
  const auto message = [](int every) {
    const doctor::Report report = report_of(resting([every](JsonTrace& t, double at) {
      if (static_cast<int>(at) / 20'000 % every == 0)
        t.call("cudaDeviceSynchronize", static_cast<int>(at) + 1000, at + 700, 5000);
    }));
    const doctor::Found* one = found(report, "trace_host_syncs");
    return one ? one->message : "";
  };
  CHECK(message(1).starts_with("the host waits 10 times, 1 a step, "));
  CHECK(message(3).starts_with("the host waits 4 times, less than once a step, "));
}

TEST_CASE("what to do about waits follows what most of them wait for", "[doctor]") {
  const auto of = [](const char* call, const std::string& copy) {
    return advice(report_of(waiting(call, copy)), "trace_host_syncs");
  };
  CHECK(of("cudaMemcpyAsync", "Memcpy HtoD (Pageable -> Device)").starts_with("pin "));
  CHECK(of("cudaMemcpyAsync", "Memcpy DtoH (Device -> Pageable)").find("into pinned memory") !=
        std::string::npos);
  CHECK(of("cudaMemcpyAsync", "Memcpy DtoH (Device -> Pageable)").find("item") ==
        std::string::npos);
  CHECK(to_do(report_of(waiting("cuModuleLoadData", "")), "trace_host_syncs") ==
        "export CUDA_MODULE_LOADING=EAGER; load modules before the first step: warm up");
  CHECK(of("cudaDeviceSynchronize", "").empty());  // what the rule says
  const doctor::Report own = report_of(loading_for(1));
  CHECK(advice(own, "trace_host_syncs").find("torch.cuda.synchronize") != std::string::npos);
}

TEST_CASE("a wait names the function of the program that it was called in", "[doctor]") {
  const auto fact = [](bool twice, bool by_stack) {
    JsonTrace t;
    for (int step = 0, id = 1; step < 10; ++step, id += 3) {
      const double at = 10'000.0 * step;
      const auto function = [&](const char* name, double from, double us) {
        if (!by_stack) t.range(name, at + from, us, 1, "python_function");
      };
      function("train.py(3): <module>", 0, 9900);
      function("train.py(42): log_loss", 1000, 6000);
      function("torch/_tensor.py(90): item", 1010, 5900);
      function("/opt/venv/lib/python3.11/site-packages/logger/log.py(7): write", 1020, 5800);
      if (by_stack)
        t.op(
            "aten::item", at + 1050, 5000,
            R"("Call stack": "torch/_tensor.py(90): item;train.py(42): log_loss;train.py(3): <module>")");
      else
        t.op("aten::item", at + 1050, 5000, "");
      t.launched("gemm", id, at + 100, at + 200, 5000);
      t.call("cudaStreamSynchronize", id + 1, at + 1100, 4500);
      if (twice) t.op("aten::item", at + 8000, 500, "");
      if (twice) t.call("cudaStreamSynchronize", id + 2, at + 8010, 400);
    }
    const doctor::Report report = report_of(t);
    const doctor::Found* one = found(report, "trace_host_syncs");
    return one && !one->facts.empty() ? one->facts.front().what : "";
  };
  CHECK(fact(false, false).find("aten::item, called by train.py(42): log_loss") !=
        std::string::npos);
  CHECK(fact(false, true).find("aten::item, called by train.py(42): log_loss") !=
        std::string::npos);
  CHECK(fact(true, false).find("most of it called by train.py(42): log_loss") != std::string::npos);
}

TEST_CASE("waits win no more than they take, whatever allocations take", "[doctor]") {
  JsonTrace t;
  for (int step = 0, id = 1; step < 10; ++step, id += 5) {
    const double at = 5000.0 * step;
    t.call("cudaMalloc", id, at + 10, 1500).call("cudaFree", id + 1, at + 1520, 1000);
    t.call("cudaHostAlloc", id + 2, at + 2600, 500);
    t.call("hipMemcpyWithStream", id + 3, at + 3300, 200);
    t.launched("gemm", id + 4, at + 3600, at + 3700, 800);
  }
  const doctor::Report report = report_of(t);
  REQUIRE(found(report, "trace_host_syncs"));
  CHECK(found(report, "trace_host_syncs")->gain.at_most_ns == 2'000'000);
  REQUIRE(found(report, "trace_allocations"));
  CHECK(*found(report, "trace_allocations")->gain.at_most_ns > 25'000'000);
}

TEST_CASE("a few allocations are found where they cost much of the time", "[doctor]") {
  const auto with = [](double us) {
    JsonTrace t;
    for (int step = 0, id = 1; step < 6; ++step, id += 2) {
      const double at = 20'000.0 * step;
      t.call("cudaMalloc", id, at, us).launched("gemm", id + 1, at + us, at + us + 10, 15'000);
    }
    return report_of(t);
  };
  const doctor::Report dear = with(3000), cheap = with(10);
  REQUIRE(found(dear, "trace_allocations"));
  CHECK(*found(dear, "trace_allocations")->gain.at_most_ns > 2'000'000);
  CHECK_FALSE(found(cheap, "trace_allocations"));
}

TEST_CASE("what runs before the steps is not said of a step", "[doctor]") {
  const auto with = [](bool in_steps) {
    JsonTrace t;
    int id = 1;
    const double first = in_steps ? 0 : 6000;
    for (int i = 0; i < 30 && !in_steps; ++i) t.call("cudaMalloc", id++, 200.0 * i, 190);
    for (int step = 0; step < 10; ++step) {
      const double at = first + 1000.0 * step;
      t.range("ProfilerStep#" + std::to_string(step), at, 990);
      for (int i = 0; i < 3 && in_steps; ++i) t.call("cudaMalloc", id++, at + 200 * i, 190);
      t.launched("gemm", id++, at + 650, at + 660, 330);
    }
    return report_of(t);
  };
  CHECK(found(with(true), "trace_allocations"));
  const doctor::Report before = with(false);
  CHECK_FALSE(found(before, "trace_allocations"));
  CHECK_FALSE(found(before, "trace_host_syncs"));
}

}  // namespace nsa::test
