// libFuzzer: any bytes are a valid thresholds file or an InputError, and a valid one survives the
// way out and back. Configure with clang and NSA_FUZZ=ON, then run
// fuzz_thresholds tests/golden/schemas.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const nsa::ThresholdTable table = nsa::parse_thresholds(text, "fuzz");
    if (nsa::parse_thresholds(nsa::dump_thresholds(table), "again") != table) std::abort();
  } catch (const nsa::InputError&) {
  }
  return 0;
}
