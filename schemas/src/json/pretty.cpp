#include "pretty.hpp"

namespace nsa {
namespace {

constexpr std::size_t kColumns = 100;
constexpr std::size_t kIndent = 2;

std::string scalar(const Json& j) { return j.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// The whole value on one line with blanks after ':' and ','; stops early when
/// it gets too long.
bool one_line(const Json& j, std::size_t room, std::string& out) {
  const std::size_t start = out.size();
  if (!j.is_structured()) {
    out += scalar(j);
    return out.size() - start <= room;
  }
  out += j.is_array() ? '[' : '{';
  bool first = true;
  for (const auto& [key, value] : j.items()) {
    if (!first) out += ", ";
    first = false;
    if (j.is_object()) out += scalar(key) + ": ";
    if (out.size() - start >= room || !one_line(value, room - (out.size() - start), out))
      return false;
  }
  out += j.is_array() ? ']' : '}';
  return out.size() - start <= room;
}

void write(const Json& j, std::size_t indent, std::size_t used, std::string& out) {
  const std::size_t start = out.size();
  const std::size_t room = used < kColumns ? kColumns - used : 0;
  if (one_line(j, room, out) || !j.is_structured()) return;
  out.resize(start);
  const std::string margin(indent + kIndent, ' ');
  out += j.is_array() ? "[\n" : "{\n";
  std::size_t left = j.size();
  for (const auto& [key, value] : j.items()) {
    const std::size_t line = out.size();
    out += margin;
    if (j.is_object()) out += scalar(key) + ": ";
    write(value, indent + kIndent, out.size() - line + 1,
          out);  // 1 for the comma
    out += --left != 0 ? ",\n" : "\n";
  }
  out += std::string(indent, ' ') + (j.is_array() ? "]" : "}");
}

}  // namespace

std::string pretty(const Json& document) {
  std::string out;
  write(document, 0, 0, out);
  return out + '\n';
}

}  // namespace nsa
