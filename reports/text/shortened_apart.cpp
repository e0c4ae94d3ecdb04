// Names of templates share their beginnings and ends: what tells them apart must survive the cut.
#include <algorithm>
#include <map>

#include "nsa/reports/text_table.hpp"

namespace nsa::reports {
namespace {

constexpr std::string_view kCut = "...";

bool continues_letter(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

/// From the letter that holds byte `at`.
std::size_t letter_at(std::string_view text, std::size_t at) {
  while (at > 0 && at < text.size() && continues_letter(text[at])) --at;
  return at;
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
  const std::size_t head = columns / 3;
  std::string begin = shortened(text, head + kCut.size());  // ends in "..."
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

}  // namespace

std::vector<std::string> shortened_apart(std::vector<std::string> texts, std::size_t columns) {
  constexpr std::size_t kBefore = 4;  // bytes shown before the first difference
  std::vector<std::string> out = texts;
  std::map<std::string, std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (display_width(texts[i]) <= columns) continue;
    out[i] = cut(texts[i], columns, texts[i].size());
    alike[out[i]].push_back(i);
  }
  for (const auto& [text, of] : alike) {
    if (of.size() < 2) continue;
    const std::size_t differ = common_begin(texts, of);
    for (const std::size_t i : of)
      out[i] = cut(texts[i], columns, differ - std::min(differ, kBefore));
  }
  return out;
}

}  // namespace nsa::reports
