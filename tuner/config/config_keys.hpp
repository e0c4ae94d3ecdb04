// Which keys of the users' YAML there are, and what to say of the others.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace nsa::tuner {

/// A section whose keys are looked at: model, nsa, runtime, train.
bool is_read_section(std::string_view name);
/// A key (or a whole section) that the users' program knows and that changes nothing of what is
/// measured here: "train.lr", "data".
bool is_inert_key(std::string_view key);
/// "modle: no such key; did you mean model? ...", from the known sections and keys and `read`.
std::string unknown_key(std::string_view key, std::span<const std::string_view> read);
/// "modle: no such key; did you mean model?" for a key that is one slip away from a known one.
std::string slip_of(std::string_view key, std::span<const std::string_view> read);

}  // namespace nsa::tuner
