// Whether a variant runs a problem, and if not, why. A Support is a plain value: threads may share
// one that none of them changes.
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
struct Support {
  struct Piece {
    const char* text;  // null: the number
    std::size_t size;
    std::int64_t number;
  };

  bool supported = true;
  std::size_t count = 0;         // of the pieces that are in use
  std::array<Piece, 16> pieces;  // uninitialised beyond `count`: most answers are a yes

  /// A yes: its reason() is empty.
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
    if (count < pieces.size()) pieces[count++] = {text.data(), text.size(), 0};
  }
  /// Likewise; not null.
  void add(const char* text) noexcept { add(std::string_view(text)); }
  /// Likewise; the text outlives the answer.
  void add(const std::string& text) noexcept { add(std::string_view(text)); }
  void add(std::string&& text) = delete;  // gone before anybody reads it
  /// Likewise, a number.
  template <std::integral T>
  void add(T number) noexcept {
    if (count < pieces.size()) {
      pieces[count++] = {nullptr, 0, static_cast<std::int64_t>(number)};
    }
  }
  /// The whole of another sentence.
  void add(const Support& other) noexcept {
    for (std::size_t i = 0; i < other.count && count < pieces.size(); ++i) {
      pieces[count++] = other.pieces[i];
    }
  }

  /// The sentence; empty for a yes.
  std::string reason() const {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
      const Piece& piece = pieces[i];
      if (piece.text) {
        text.append(piece.text, piece.size);
      } else {
        text += std::to_string(piece.number);
      }
    }
    return text;
  }
};

}  // namespace nsa
