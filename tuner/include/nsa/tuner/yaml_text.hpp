// YAML of users, whole or not at all.
#pragma once

#include <string>
#include <string_view>

namespace YAML {
class Node;
}

namespace nsa::tuner {

/// The one document of a text, merge keys ("<<: *name") expanded; a null node where there is none.
/// InputError "<where>:<line>: ..." on
/// text that is no YAML, has a second document or a NUL, or is larger than 1 MiB.
YAML::Node load_yaml(std::string_view text, const std::string& where);

}  // namespace nsa::tuner
