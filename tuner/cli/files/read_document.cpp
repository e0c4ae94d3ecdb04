#include "files/read_document.hpp"

#include "nsa/exchange/exchange.hpp"
#include "nsa/kernels/routing.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/schemas/output_path.hpp"

namespace nsa::cli {
namespace {

template <class Read>
auto read_or_say_what_it_is(const std::string& path, const char* expected, const Read& read) {
  refuse_database(path);  // which is larger than any document, perhaps
  try {
    return read();
  } catch (const InputError&) {
    std::string text;
    try {
      text = read_text_file(path);
    } catch (const InputError&) {  // that is what was said
    }
    const auto found = text.empty() ? std::nullopt : exchange::recognise(text);
    if (!found || found->what.find(expected) != std::string::npos) throw;
    throw InputError(path + ": is " + found->what + "; a " + expected + " is expected");
  }
}

}  // namespace

ThresholdTable read_thresholds(const std::string& path) {
  return read_or_say_what_it_is(path, "thresholds file", [&] { return load_thresholds(path); });
}

SweepSpec read_sweep_spec(const std::string& path) {
  return read_or_say_what_it_is(path, "sweep spec",
                                [&] { return parse_sweep_spec(read_text_file(path), path); });
}

}  // namespace nsa::cli
