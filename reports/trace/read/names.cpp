#include "nsa/trace/names.hpp"

#include "nsa/schemas/error.hpp"

namespace nsa::trace {

NameId NamePool::intern(std::string_view text) {
  const auto at = ids_.find(text);
  if (at != ids_.end()) return at->second;
  expects(texts_.size() < UINT32_MAX, "fewer than 2^32 different names");
  const auto id = static_cast<NameId>(texts_.size());
  ids_.emplace(texts_.emplace_back(text), id);
  return id;
}

}  // namespace nsa::trace
