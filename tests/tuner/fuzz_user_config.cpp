// libFuzzer: any bytes are a user's YAML or an InputError of one line without control characters.
// The first byte says whether unknown keys are refused.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "nsa/schemas/error.hpp"
#include "nsa/tuner/user_config.hpp"

namespace {

void check_line(std::string_view line) {
  for (const char c : line)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    const nsa::tuner::UserConfig config =
        nsa::tuner::parse_user_config(text, "fuzz", data[0] % 2 == 1);
    for (const std::string& note : config.notes) check_line(note);
    for (const nsa::tuner::ConfigSwitch& one : config.switches) check_line(one.origin);
  } catch (const nsa::InputError& error) {
    check_line(error.what());
  }
  return 0;
}
