// Damage to texts, the same in every run.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace nsa::test {

using Random = std::mt19937_64;  // its sequence is fixed by the standard

/// Less than n; 0 where n is 0.
inline std::size_t below(Random& random, std::size_t n) { return n == 0 ? 0 : random() % n; }

/// Makes one to four changes. `pieces` may be inserted, and what JSON parsers stumble over.
inline void mutate(std::string& text, Random& random, const std::vector<std::string>& pieces) {
  static const std::vector<std::string> kPieces{"{",
                                                "}",
                                                "[",
                                                "]",
                                                ",",
                                                ":",
                                                "\"",
                                                "null",
                                                "true",
                                                "-1",
                                                "0",
                                                "1e999",
                                                "1e308",
                                                "\\",
                                                "\xff",
                                                "99999999999999999999",
                                                "-9223372036854775808",
                                                "18446744073709551615",
                                                "\\u0000",
                                                "NaN",
                                                std::string("\0", 1),
                                                "\n"};
  const std::size_t changes = 1 + below(random, 4);
  for (std::size_t i = 0; i < changes && !text.empty(); ++i) {
    const std::size_t at = below(random, text.size());
    const std::size_t which = below(random, kPieces.size() + pieces.size());
    const std::string& piece =
        which < kPieces.size() ? kPieces[which] : pieces[which - kPieces.size()];
    switch (random() % 8) {
      case 0:
        text.insert(at, piece);
        break;
      case 1:
        text.erase(at, below(random, 40));
        break;
      case 2:
        text[at] = static_cast<char>(random());
        break;
      case 3:
        text[at] = static_cast<char>(text[at] ^ (1 << below(random, 8)));
        break;
      case 4:
        text.replace(at, below(random, 6), piece);
        break;
      case 5:
        text.insert(at, text.substr(below(random, text.size()), below(random, 400)));
        break;
      case 6:
        text.resize(at);
        break;
      default:
        text[at] = static_cast<char>('0' + random() % 10);
    }
  }
}

}  // namespace nsa::test
