// Whether a variant runs a problem, and if not, why.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace nsa {

/// Yes, or no with the reason and what would help. A no holds the pieces of its sentence; reason()
/// joins them, so that the router, which asks in every choice, never allocates. Texts are borrowed:
/// literals, names of the table, the id of the device that was asked about.
class Support {
 public:
  bool supported = true;

  static Support yes() noexcept { return {}; }
  /// no("needs ", 4096, " bytes, ", device.id, " has ", room)
  template <class... Pieces>
  static Support no(Pieces&&... pieces) noexcept {
    Support answer;
    answer.supported = false;
    (answer.add(std::forward<Pieces>(pieces)), ...);
    return answer;
  }
  Support() noexcept {}  // the pieces of a yes are never looked at, and cost nothing

  /// Another piece at the end of the sentence. What does not fit any more is left out.
  void add(std::string_view text) noexcept {
    if (count_ < pieces_.size()) pieces_[count_++] = {text.data(), text.size(), 0};
  }
  void add(const char* text) noexcept { add(std::string_view(text)); }
  void add(const std::string& text) noexcept { add(std::string_view(text)); }
  void add(std::string&& text) = delete;  // gone before anybody reads it
  template <std::integral T>
  void add(T number) noexcept {
    if (count_ < pieces_.size()) {
      pieces_[count_++] = {nullptr, 0, static_cast<std::int64_t>(number)};
    }
  }
  /// The whole of another sentence.
  void add(const Support& other) noexcept {
    for (std::size_t i = 0; i < other.count_ && count_ < pieces_.size(); ++i) {
      pieces_[count_++] = other.pieces_[i];
    }
  }

  /// The sentence; empty for a yes.
  std::string reason() const {
    std::string text;
    for (std::size_t i = 0; i < count_; ++i) {
      const Piece& piece = pieces_[i];
      if (piece.text) {
        text.append(piece.text, piece.size);
      } else {
        text += std::to_string(piece.number);
      }
    }
    return text;
  }

 private:
  struct Piece {
    const char* text;  // null: the number
    std::size_t size;
    std::int64_t number;
  };
  std::size_t count_ = 0;
  std::array<Piece, 16> pieces_;
};

}  // namespace nsa
