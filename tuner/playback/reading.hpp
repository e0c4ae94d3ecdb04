// Fields of a document that its schema has checked.
#pragma once

#include <algorithm>
#include <array>
#include <string>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"
#include "playback/world.hpp"

namespace nsa::tuner::playback {

/// The field as T, where it is there.
template <class T>
void read(const Json& j, const char* key, T& out) {
  if (const auto found = j.find(key); found != j.end()) out = found->get<T>();
}
/// Calls `use` with the field, where it is there.
template <class Use>
void with(const Json& j, const char* key, Use use) {
  if (const auto found = j.find(key); found != j.end()) use(*found);
}
/// Calls `use` with each item of a list, where it is there, and its pointer.
template <class Use>
void each(const Json& j, const std::string& pointer, const char* key, Use use) {
  std::size_t i = 0;
  with(j, key, [&](const Json& list) {
    for (const Json& item : list) use(item, pointer + "/" + key + "/" + std::to_string(i++));
  });
}

/// The place of a name among the enumerators in order. The schema has refused all others.
template <class Enum, std::size_t N>
Enum named(const std::string& name, const std::array<const char*, N>& names) {
  const auto found = std::find(names.begin(), names.end(), name);
  expects(found != names.end(), "a name that the schema allows");
  return static_cast<Enum>(found - names.begin());
}

/// A variant of a world. InputError "/pointer: ..." below the variant; `before`: those in front of
/// it, which its time may be relative to.
PlayedVariant read_variant(const Json& j, const std::vector<PlayedVariant>& before);

}  // namespace nsa::tuner::playback
