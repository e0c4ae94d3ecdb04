// libFuzzer: any line of a worker is a reply or an InputError; what is read can be written again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/worker.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  try {
    const nsa::worker::Reply reply = nsa::worker::decode_reply(line);
    const std::string text = nsa::worker::encode(reply);
    if (nsa::worker::encode(nsa::worker::decode_reply(text)) != text) std::abort();
  } catch (const nsa::InputError&) {
  }
  return 0;
}
