// JSON of other programs: keys sorted (files have thousands in one object), nothing believed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace nsa::exchange {

using Tree = nlohmann::json;

/// InputError "<where>:<line>: ..." on syntax, a depth over 64, or more than 64 MiB.
Tree parse_tree(std::string_view text, const std::string& where);
/// The member of an object; null where it is missing or `object` is none.
const Tree* find(const Tree& object, const char* key);
/// The same; InputError where it is missing.
const Tree& member(const Tree& object, const char* key, const std::string& where);
/// Members that have to be a list, an object, a text or a number; InputError otherwise.
const Tree& list_at(const Tree& object, const char* key, const std::string& where);
const Tree& object_at(const Tree& object, const char* key, const std::string& where);
std::string text_at(const Tree& object, const char* key, const std::string& where);
double number_at(const Tree& object, const char* key, const std::string& where);
/// The text of a member, or `otherwise` where it is missing or no text.
std::string text_or(const Tree& object, const char* key, const std::string& otherwise);
double number_of(const Tree& value, const std::string& where);
std::int64_t integer_of(const Tree& value, const std::string& where);
/// A text as it is, anything else as compact JSON.
std::string scalar_text(const Tree& value);
/// Compact JSON; bytes that are no UTF-8 are replaced.
std::string dump(const Tree& value);

}  // namespace nsa::exchange
