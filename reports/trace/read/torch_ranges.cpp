// Operators that came as NVTX ranges.
#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "finish.hpp"

namespace nsa::trace {
namespace {

/// The text between two marks, or to the end; empty where the first is not there.
std::string_view between(std::string_view text, std::string_view mark, std::string_view end) {
  const std::size_t at = text.find(mark);
  if (at == text.npos) return {};
  text.remove_prefix(at + mark.size());
  return text.substr(0, text.find(end));
}

template <class Number>
void read_number(std::string_view text, Number& number) {
  Number read{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), read);
  if (error == std::errc() && end == text.data() + text.size()) number = read;
}

/// An operator or autograd's node; ranges that the program named itself stay annotations.
bool is_operator(std::string_view name) {
  if (name.starts_with("autograd::") || name.starts_with("torch::")) return true;
  if (name.find(' ') != name.npos) return false;
  return name.find("::") != name.npos || name.find("Backward") != name.npos ||
         name == "AccumulateGrad";
}

bool is_list(std::string_view text) {
  return text.starts_with('[') && text.ends_with(']') &&
         text.find_first_not_of("[]0123456789, ") == text.npos;
}

}  // namespace

void recognise_operators(Trace& trace) {
  for (HostRange& range : trace.ranges) {
    if (range.kind != RangeKind::nvtx) continue;
    const std::string text = trace.names.text(range.name);
    const std::size_t end = std::min(text.find(", seq = "), text.find(", op_id = "));
    if (end == text.npos || !is_operator(std::string_view(text).substr(0, end))) continue;
    range.kind = RangeKind::cpu_op;
    range.name = trace.names.intern(std::string_view(text).substr(0, end));
    read_number(between(text, ", seq = ", ", "), range.sequence);
    read_number(between(text, ", op_id = ", ", "), range.external);
    if (const std::string_view sizes = between(text, ", sizes = ", ", input_op_ids");
        is_list(sizes))
      range.arguments = trace.names.intern("\"Input Dims\": " + std::string(sizes));
  }
}

}  // namespace nsa::trace
