// What the tests of rules over traces share: traces with one fault, and what a report says of them.
#pragma once

#include <string>
#include <string_view>

#include "catch.hpp"
#include "nsa/doctor/gather.hpp"
#include "nsa/doctor/rule.hpp"

#include "../trace/traces.hpp"

namespace nsa::test {

inline const doctor::Found* found(const doctor::Report& report, std::string_view rule) {
  for (const doctor::Finding& finding : report.findings)
    if (finding.rule->id == rule) return &finding.found;
  return nullptr;
}

/// What is printed as its advice; advice() is the finding's own, "" where the rule says it.
inline std::string to_do(const doctor::Report& report, std::string_view rule) {
  for (const doctor::Finding& finding : report.findings)
    if (finding.rule->id == rule) return finding.advice;
  return "";
}

inline std::string advice(const doctor::Report& report, std::string_view rule) {
  const doctor::Found* one = found(report, rule);
  return one ? one->advice : "";
}

inline doctor::Report report_of(const JsonTrace& t) {
  trace::Trace trace = t.read();
  doctor::RunEvidence evidence;
  evidence.traces.push_back(doctor::examine_trace(trace));
  return doctor::examine(evidence);
}

/// Steps of 10 ms on several GPUs of one process: 3 ms in which the next batch is loaded, then a
/// kernel of 6.7 ms on each.
inline JsonTrace loading_for(int gpus) {
  JsonTrace t;
  for (int step = 0, id = 1; step < 10; ++step) {
    const double at = 10'000.0 * step;
    t.range("ProfilerStep#" + std::to_string(step), at, 9990);
    t.range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", at + 5, 3000);
    for (int gpu = 0; gpu < gpus; ++gpu, ++id) {
      t.call("cudaLaunchKernel", id, at + 3011 + 10 * gpu, 6);
      t.kernel("gemm", id, at + 3100 + 10 * gpu, 6700, 7, gpu);
    }
    t.call("cudaDeviceSynchronize", id++, at + 3200, 6690);
  }
  return t;
}

/// Steps of 20 ms with five kernels of 1 ms, and nothing in the rest of them but what `more` adds.
template <class More>
JsonTrace resting(More more) {
  JsonTrace t;
  for (int step = 0; step < 10; ++step) {
    const double at = 20'000.0 * step;
    t.range("ProfilerStep#" + std::to_string(step), at, 19'990);
    for (int k = 0; k < 5; ++k) {
      t.range("aten::linear", at + 100 + 100 * k, 80, 1, "cpu_op");
      t.launched("gemm", 5 * step + k + 1, at + 110 + 100 * k, at + 200 + 1000 * k, 998);
    }
    more(t, at);
  }
  return t;
}

/// Steps in which the host waits 3 ms in one call and .9 ms in a synchronisation of aten::item.
inline JsonTrace waiting(const char* call, const std::string& copy) {
  JsonTrace t;
  for (int step = 0, id = 1; step < 20; ++step) {
    const double at = 5000.0 * step;
    t.range("aten::copy_", at + 5, 3010, 1, "cpu_op");
    t.call(call, id, at + 10, 3000);
    if (!copy.empty())
      t.event("gpu_memcpy", copy, std::to_string(at + 20), "2980",
              R"(, "args": {"device": 0, "stream": 7, "bytes": 12000000, "correlation": )" +
                  std::to_string(id) + "}");
    t.launched("gemm", ++id, at + 3050, at + 3100, 1000);
    t.range("aten::item", at + 3300, 900, 1, "cpu_op");
    t.call("cudaStreamSynchronize", ++id, at + 3305, 890);
    ++id;
  }
  return t;
}

}  // namespace nsa::test
