// Names of templates share their beginnings and ends: what tells them apart must survive the cut.
#include <algorithm>
#include <map>
#include <set>

#include "nsa/reports/text_table.hpp"

namespace nsa::reports {
namespace {

constexpr std::string_view kCut = "...";
constexpr std::size_t kBefore = 4;      // bytes shown before a difference
constexpr std::size_t kLeastPiece = 5;  // columns, with what stands for the cut

bool continues_letter(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

/// From the letter that holds byte `at`.
std::size_t letter_at(std::string_view text, std::size_t at) {
  while (at > 0 && at < text.size() && continues_letter(text[at])) --at;
  return at;
}

/// `text` from its beginning, at most `columns` wide.
std::string_view head(std::string_view text, std::size_t columns) {
  std::string_view out = text.substr(0, shortened(text, columns + kCut.size()).size());
  while (!out.empty() && display_width(out) > columns)
    out = out.substr(0, letter_at(text, out.size() - 1));
  return out;
}

/// `text` from its end, at most `columns` wide.
std::string_view tail(std::string_view text, std::size_t columns) {
  std::size_t begin = text.size();
  while (begin > 0) {
    const std::size_t before = letter_at(text, begin - 1);
    if (display_width(text.substr(before)) > columns) break;
    begin = before;
  }
  return text.substr(begin);
}

/// The beginning, "...", and what follows: its end, or what stands from byte `keep` on.
std::string cut(std::string_view text, std::size_t columns, std::size_t keep) {
  std::string begin = shortened(text, columns / 3 + kCut.size());  // ends in "..."
  const std::size_t room = columns - std::min(columns, display_width(begin));
  const std::string_view end = tail(text, room);
  const auto end_at = text.size() - end.size();
  if (keep >= end_at) return begin.append(end);
  return begin.append(shortened(text.substr(letter_at(text, keep)), room));
}

std::size_t common_begin(const std::vector<std::string>& texts,
                         const std::vector<std::size_t>& of) {
  std::size_t same = texts[of.front()].size();
  for (const std::size_t i : of) {
    const auto [a, b] = std::mismatch(texts[i].begin(), texts[i].end(), texts[of.front()].begin(),
                                      texts[of.front()].end());
    if (i != of.front()) same = std::min(same, static_cast<std::size_t>(a - texts[i].begin()));
  }
  return same;
}

using Places = std::set<std::size_t>;

/// The beginning, and a piece of the text around each of these bytes.
std::string shown_at(std::string_view text, std::size_t columns, const Places& places) {
  if (places.size() == 1)
    return cut(text, columns, *places.begin() - std::min(*places.begin(), kBefore));
  std::string out(head(text, columns / (places.size() + 1)));
  std::size_t shown = out.size();  // so many bytes
  std::size_t left = places.size();
  for (const std::size_t place : places) {
    const std::size_t room = (columns - display_width(out)) / left--;
    const std::size_t width = room - std::min(room, kCut.size());
    if (place < shown) continue;
    const std::size_t from = letter_at(text, place - std::min({place, kBefore, width / 3}));
    if (from > shown) out += kCut;
    shown = std::max(shown, from);
    const std::string_view piece = head(text.substr(shown), width);
    out += piece;
    shown += piece.size();
  }
  return out;
}

}  // namespace

std::vector<std::string> shortened_apart(std::vector<std::string> texts, std::size_t columns) {
  std::vector<std::string> out = texts;
  std::vector<Places> places(texts.size());
  std::vector<std::size_t> cut_ones;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (display_width(texts[i]) <= columns) continue;
    out[i] = cut(texts[i], columns, texts[i].size());
    cut_ones.push_back(i);
  }
  // Those that are alike show where they differ first, those that still are where they differ next.
  for (bool changed = true; changed;) {
    changed = false;
    std::map<std::string, std::vector<std::size_t>> alike;
    for (const std::size_t i : cut_ones) alike[out[i]].push_back(i);
    for (const auto& [text, of] : alike) {
      if (of.size() < 2) continue;
      const std::size_t differ = common_begin(texts, of);
      for (const std::size_t i : of) {
        if ((places[i].size() + 1) * kLeastPiece > columns || !places[i].insert(differ).second)
          continue;
        out[i] = shown_at(texts[i], columns, places[i]);
        changed = true;
      }
    }
  }
  return out;
}

}  // namespace nsa::reports
