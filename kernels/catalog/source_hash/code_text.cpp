#include "digest.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace nsa::source_hash {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Copies a source and leaves comments out.
class Copier {
 public:
  explicit Copier(std::string_view source) : rest_(source) {}

  std::string without_comments() {
    while (!rest_.empty()) {
      if (rest_.starts_with("//")) {
        skip_line_comment();
      } else if (rest_.starts_with("/*")) {
        skip_to(rest_.find("*/", 2), 2);
        text_ += ' ';
      } else if (rest_.front() == '"') {
        is_raw() ? copy_raw_string() : copy_literal('"');
      } else if (rest_.front() == '\'' && !is_separator()) {
        copy_literal('\'');
      } else {
        copy(1);
      }
    }
    return std::move(text_);
  }

 private:
  void copy(std::size_t count) {
    count = std::min(count, rest_.size());
    text_ += rest_.substr(0, count);
    rest_.remove_prefix(count);
  }
  void skip_to(std::size_t position, std::size_t behind) {
    rest_.remove_prefix(position == rest_.npos ? rest_.size() : position + behind);
  }
  /// A backslash at the end of its line carries a comment on.
  void skip_line_comment() {
    std::size_t end = rest_.find('\n');
    while (end != rest_.npos && end > 0 && rest_[end - 1] == '\\') end = rest_.find('\n', end + 1);
    skip_to(end, 0);
  }
  /// The quote in 1'000.
  bool is_separator() const { return !text_.empty() && is_word(text_.back()); }
  bool is_raw() const { return !text_.empty() && text_.back() == 'R'; }

  void copy_literal(char quote) {
    copy(1);
    while (!rest_.empty() && rest_.front() != quote && rest_.front() != '\n') {
      copy(rest_.front() == '\\' ? 2 : 1);
    }
    copy(1);
  }
  void copy_raw_string() {
    const std::size_t open = rest_.find('(');
    if (open == rest_.npos) return copy(rest_.size());
    const std::string close = ")" + std::string(rest_.substr(1, open - 1)) + "\"";
    const std::size_t end = rest_.find(close, open);
    copy(end == rest_.npos ? rest_.size() : end + close.size());
  }

  std::string_view rest_;
  std::string text_;
};

std::string_view trimmed(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t begin = line.find_first_not_of(kBlank);
  if (begin == line.npos) return {};
  return line.substr(begin, line.find_last_not_of(kBlank) - begin + 1);
}

bool is_include(std::string_view line) {
  if (!line.starts_with('#')) return false;
  return trimmed(line.substr(1)).starts_with("include");
}

}  // namespace

std::string code_text(std::string_view source) {
  std::istringstream lines(Copier(source).without_comments());
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    const std::string_view code = trimmed(line);
    if (code.empty() || is_include(code)) continue;
    text.append(code) += '\n';
  }
  return text;
}

}  // namespace nsa::source_hash
