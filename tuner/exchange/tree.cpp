#include "tree.hpp"

#include <algorithm>

#include "nsa/schemas/error.hpp"

namespace nsa::exchange {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
constexpr int kMaxDepth = 64;

std::size_t line_of(std::string_view text, std::size_t byte) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(byte, text.size()));
  return 1 + static_cast<std::size_t>(std::count(text.begin(), end, '\n'));
}

[[noreturn]] void refuse(const std::string& where, const char* key, const char* what) {
  throw InputError(where + ": " + key + " " + what);
}

}  // namespace

Tree parse_tree(std::string_view text, const std::string& where) {
  if (text.size() > kMaxBytes) throw InputError(where + ": is larger than 64 MiB");
  // The library takes a NUL for the end, so what follows it would go unseen.
  if (const auto nul = text.find('\0'); nul != std::string_view::npos)
    throw InputError(where + ":" + std::to_string(line_of(text, nul)) +
                     ": has a NUL character; JSON is text");
  const auto watch = [&](int depth, Tree::parse_event_t, Tree&) {
    if (depth >= kMaxDepth) throw InputError(where + ": is nested deeper than 64 levels");
    return true;
  };
  try {
    return Tree::parse(text, watch);
  } catch (const Tree::parse_error& error) {
    throw InputError(where + ":" + std::to_string(line_of(text, error.byte)) +
                     ": is not JSON; is the file whole, and of this format?");
  } catch (const Tree::exception&) {
    throw InputError(where + ": has a number that is too large");
  }
}

const Tree* find(const Tree& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto at = object.find(key);
  return at == object.end() ? nullptr : &*at;
}

const Tree& member(const Tree& object, const char* key, const std::string& where) {
  const Tree* found = find(object, key);
  if (!found) refuse(where, key, "is missing");
  return *found;
}

const Tree& list_at(const Tree& object, const char* key, const std::string& where) {
  const Tree& value = member(object, key, where);
  if (!value.is_array()) refuse(where, key, "is not a list");
  return value;
}

const Tree& object_at(const Tree& object, const char* key, const std::string& where) {
  const Tree& value = member(object, key, where);
  if (!value.is_object()) refuse(where, key, "is not an object");
  return value;
}

std::string text_at(const Tree& object, const char* key, const std::string& where) {
  const Tree& value = member(object, key, where);
  if (!value.is_string()) refuse(where, key, "is not text");
  return value.get<std::string>();
}

double number_at(const Tree& object, const char* key, const std::string& where) {
  return number_of(member(object, key, where), where + ": " + key);
}

std::string text_or(const Tree& object, const char* key, const std::string& otherwise) {
  const Tree* value = find(object, key);
  return value && value->is_string() ? value->get<std::string>() : otherwise;
}

double number_of(const Tree& value, const std::string& where) {
  if (!value.is_number()) throw InputError(where + ": a number is expected");
  return value.get<double>();
}

std::int64_t integer_of(const Tree& value, const std::string& where) {
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() ||
                     value.get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX));
  if (!fits) throw InputError(where + ": a whole number is expected");
  return value.get<std::int64_t>();
}

std::string scalar_text(const Tree& value) {
  if (value.is_string()) return value.get<std::string>();
  return dump(value);
}

std::string dump(const Tree& value) {
  return value.dump(-1, ' ', false, Tree::error_handler_t::replace);
}

}  // namespace nsa::exchange
