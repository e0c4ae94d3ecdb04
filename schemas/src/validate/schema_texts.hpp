// The files of schemas/json inside the library.
#pragma once

#include <span>
#include <string_view>

namespace nsa {

struct SchemaText {
  std::string_view name;  // "thresholds"
  std::string_view text;
};

/// All schemas, sorted by name. Written by schemas/embed_schemas.cmake.
std::span<const SchemaText> schema_texts() noexcept;

}  // namespace nsa
