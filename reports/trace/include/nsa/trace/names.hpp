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

/// Texts by number. One thread at a time; movable, and numbers stay as they are.
class NamePool {
 public:
  NamePool() { intern(""); }
  NamePool(const NamePool&) = delete;
  NamePool& operator=(const NamePool&) = delete;
  // A deque that is moved from allocates anew: no memory for that ends the program.
  NamePool(NamePool&&) noexcept = default;
  NamePool& operator=(NamePool&&) noexcept = default;

  /// The number of the text, a new one where it is new.
  NameId intern(std::string_view text);
  /// The text of that number, as long as the pool lives; std::out_of_range where there is none.
  const std::string& text(NameId id) const { return texts_.at(id); }
  /// How many texts there are, the empty one among them.
  std::size_t size() const noexcept { return texts_.size(); }

 private:
  std::deque<std::string> texts_;  // never moves a text, so the map may view them
  std::unordered_map<std::string_view, NameId> ids_;
};

}  // namespace nsa::trace
