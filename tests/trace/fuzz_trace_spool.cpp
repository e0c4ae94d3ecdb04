// libFuzzer: any bytes are a spool, whose trace is summarised, or an InputError.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "nsa/schemas/error.hpp"
#include "nsa/trace/merge.hpp"
#include "nsa/trace/read.hpp"
#include "nsa/trace/summary_json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    std::vector<nsa::trace::Trace> both;
    both.push_back(nsa::trace::read_spool_trace(bytes, "a"));
    nsa::trace::to_document(nsa::trace::summarize(both.front()));
    both.push_back(nsa::trace::read_spool_trace(bytes, "b"));
    nsa::trace::to_document(nsa::trace::summarize(nsa::trace::merge_traces(std::move(both))));
  } catch (const nsa::InputError&) {
  }
  return 0;
}
