// libFuzzer: any bytes are a sweep.json or an InputError, and one that is read survives the way out
// and back.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const nsa::SweepSpec spec = nsa::parse_sweep_spec(text, "fuzz");
    if (!(nsa::parse_sweep_spec(nsa::Json(spec).dump(), "again") == spec)) std::abort();
  } catch (const nsa::InputError&) {
  }
  return 0;
}
