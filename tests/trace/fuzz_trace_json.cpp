// libFuzzer: any bytes are a trace, whose summary adds up, or an InputError.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "nsa/schemas/error.hpp"
#include "nsa/trace/read.hpp"
#include "nsa/trace/summary_json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    const auto s = nsa::trace::summarize(nsa::trace::read_json_trace(bytes, "fuzz"));
    if (s.gpu) {
      const auto& c = s.gpu->idle_by_class_ns;
      const std::int64_t sum = c.host_wait.value_or(0) + c.kernel_wait.value_or(0) +
                               c.sync.value_or(0) + c.blocking_call.value_or(0) +
                               c.profiler_overhead.value_or(0) + c.other;
      if (sum != s.gpu->idle_ns || s.gpu->idle_ns < 0) std::abort();
    }
    nsa::trace::to_document(s);
  } catch (const nsa::InputError&) {
  }
  return 0;
}
