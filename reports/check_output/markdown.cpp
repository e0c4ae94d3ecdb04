// For GitHub: the step summary and the comment on a pull request.
#include <fmt/format.h>

#include <cctype>

#include "nsa/check_output/formats.hpp"
#include "nsa/reports/text_table.hpp"
#include "words.hpp"

namespace nsa::check_output {
namespace {

constexpr std::size_t kSummaryBytes = (std::size_t{1} << 20) - 1024;
constexpr std::size_t kCommentBytes = 65'536 - 1024;
constexpr std::size_t kMostAlerts = 50;
constexpr std::size_t kMostColumns = 160;  // of a name
constexpr const char* kHead =
    "| state | change | 95 % interval | since, or why | commits | series "
    "|\n|---|---:|---|---|---|---|\n";

/// Everything that Markdown or HTML might act upon becomes a character reference; in <code>, where
/// GitHub makes no mentions or links of it.
std::string code(const std::string& text) {
  const std::string shown = reports::shortened(reports::printable(text), kMostColumns);
  if (shown.empty()) return "";
  std::string out;
  for (const char c : shown) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte >= 0x80 || std::isalnum(byte) || c == ' ';
    out += plain ? std::string(1, c) : fmt::format("&#{};", byte);
  }
  return "<code>" + out + "</code>";
}

std::string row(const Json& series) {
  const std::string name = code(series["name"].get<std::string>());
  if (const Json* change = state_change(series))
    return fmt::format("| {} | {} | {} | {} | {} | {} |\n", state_text(series), size_text(*change),
                       interval_text(*change), code((*change)["time"].get<std::string>()),
                       code(commits_text(*change)), name);
  return fmt::format("| {} |  |  | {} |  | {} |\n", state_text(series),
                     code(series["reason"].get<std::string>()), name);
}

/// Rows while they fit, then how many did not.
class Table {
 public:
  Table(std::string& out, std::size_t most_bytes) : out_(out), most_bytes_(most_bytes) {}
  void add(const std::string& line) {
    if (left_out_ > 0 || out_.size() + line.size() > most_bytes_) {
      ++left_out_;
    } else {
      out_ += line;
    }
  }
  void skip() { ++left_out_; }
  ~Table() {
    if (left_out_ > 0) out_ += fmt::format("\n... and {} more; `--json` lists all.\n", left_out_);
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

 private:
  std::string& out_;
  std::size_t most_bytes_, left_out_ = 0;
};

std::string heading(const Json& document) {
  const auto nights = document["nights"].get<std::int64_t>();
  return fmt::format("## Nightly check: {}\n\n{} series, {} {}: {}.\n\n", verdict_text(document),
                     document["series"].size(), nights, nights == 1 ? "night" : "nights",
                     counts_text(document));
}

/// Series with something to say, the urgent ones first.
void add_told(std::string& out, const Json& document, std::size_t most_bytes) {
  std::vector<const Json*> told;
  for (const std::string& state : told_states()) {
    const auto series = series_in(document, state);
    told.insert(told.end(), series.begin(), series.end());
  }
  if (told.empty()) return;
  out += kHead;
  Table table(out, most_bytes);
  for (std::size_t i = 0; i < told.size(); ++i) {
    if (i < kMostAlerts) {
      table.add(row(*told[i]));
    } else {
      table.skip();
    }
  }
}

void add_all(std::string& out, const Json& document, std::size_t most_bytes) {
  out += fmt::format("\n<details><summary>All {} series</summary>\n\n{}", document["series"].size(),
                     kHead);
  {
    Table table(out, most_bytes);
    for (const Json& series : document["series"]) table.add(row(series));
  }
  out += "\n</details>\n";
}

}  // namespace

std::string markdown(const Json& document) {
  std::string out = heading(document);
  add_told(out, document, kSummaryBytes);
  add_all(out, document, kSummaryBytes);
  return out;
}

std::string comment(const Json& document) {
  std::string out = "<!-- nsatune check -->\n" + heading(document);
  add_told(out, document, kCommentBytes);
  return out;
}

}  // namespace nsa::check_output
