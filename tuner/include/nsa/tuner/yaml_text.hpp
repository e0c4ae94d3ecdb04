// YAML of users, whole or not at all. Functions share nothing: threads may call them at the same
// time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace YAML {
class Node;
}

namespace nsa::tuner {

/// The one document of a text, merge keys ("<<: *name") expanded; a null node where there is none.
/// InputError "<where>:<line>: ..." on text that is no YAML, has a second document or a NUL, or is
/// larger than 1 MiB.
YAML::Node load_yaml(std::string_view text, const std::string& where);

/// The line of the text in which a node begins, from 1.
int line_of(const YAML::Node& node);
/// InputError "<where>:<line>: <what>".
[[noreturn]] void refuse_line(const std::string& where, std::int64_t line, const std::string& what);

/// Adds the key of a map to `lines`. InputError where it stands there already: the library takes
/// the same key twice.
void add_key(std::map<std::string, int>& lines, const std::string& key, int line,
             const std::string& where);

}  // namespace nsa::tuner
