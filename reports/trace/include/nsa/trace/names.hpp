// Each text once: events hold a number instead of a name.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace nsa::trace {

using NameId = std::uint32_t;
inline constexpr NameId kNoName = 0;  // the empty text

class NamePool {
 public:
  NamePool() { intern(""); }
  NamePool(const NamePool&) = delete;
  NamePool& operator=(const NamePool&) = delete;
  NamePool(NamePool&&) = default;
  NamePool& operator=(NamePool&&) = default;

  NameId intern(std::string_view text);
  const std::string& text(NameId id) const { return texts_.at(id); }
  std::size_t size() const noexcept { return texts_.size(); }

 private:
  std::deque<std::string> texts_;  // never moves a text, so the map may view them
  std::unordered_map<std::string_view, NameId> ids_;
};

}  // namespace nsa::trace
