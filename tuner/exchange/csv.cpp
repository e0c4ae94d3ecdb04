#include "csv.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/text.hpp"
#include "nsa/schemas/text/spreadsheet.hpp"
#include "times.hpp"

namespace nsa::exchange {
namespace {

/// Takes characters, gives lines.
class Reader {
 public:
  void take(char c) {
    if (quoted_) {
      if (c != '"') {
        cell_ += c;
      } else {
        quoted_ = false;
        closed_ = true;
      }
    } else if (c == '"' && (cell_.empty() || closed_)) {
      if (closed_) cell_ += '"';  // a doubled quote inside of quotes
      quoted_ = true;
      closed_ = false;
    } else if (c == ',') {
      end_cell();
    } else if (c == '\n') {
      end_line();
    } else if (c != '\r') {
      cell_ += c;
    }
  }
  std::vector<CsvLine> finish(const std::string& where) {
    if (quoted_) throw InputError(where + ": a quote is never closed");
    end_line();
    return std::move(lines_);
  }

 private:
  void end_cell() {
    line_.push_back(std::move(cell_));
    cell_.clear();
    closed_ = false;
  }
  void end_line() {
    end_cell();
    if (line_.size() > 1 || !line_[0].empty()) lines_.push_back(std::move(line_));
    line_.clear();
  }

  std::vector<CsvLine> lines_;
  CsvLine line_;
  std::string cell_;
  bool quoted_ = false, closed_ = false;
};

}  // namespace

void require_text(std::string_view text, const std::string& where) {
  const auto control = [](unsigned char c) {
    return c < ' ' && c != '\n' && c != '\r' && c != '\t';
  };
  if (std::any_of(text.begin(), text.end(), control))
    throw InputError(where + ": has control characters; is it a text file?");
  if (!is_utf8(text)) throw InputError(where + ": has bytes that are not UTF-8");
}

std::vector<CsvLine> read_csv(std::string_view text, const std::string& where) {
  require_text(text, where);
  Reader reader;
  for (const char c : without_byte_order_mark(text)) reader.take(c);
  return reader.finish(where);
}

std::vector<CsvLine> read_csv_table(std::string_view text, const std::string& where) {
  std::vector<CsvLine> lines = read_csv(text, where);
  if (lines.empty()) throw InputError(where + ": is empty");
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].size() == lines[0].size()) continue;
    throw InputError(fmt::format("{}: row {} has {} where the header has {}", where, i,
                                 counted(std::ssize(lines[i]), "cell"), lines[0].size()));
  }
  return lines;
}

std::string csv_line(const CsvLine& cells) {
  std::string line;
  for (const std::string& text : cells) {
    if (&text != &cells.front()) line += ',';
    const std::string cell = with_guard(text);
    if (cell.find_first_of("\",\r\n") == std::string::npos) {
      line += cell;
      continue;
    }
    line += '"';
    for (const char c : cell) line.append(c == '"' ? 2 : 1, c);
    line += '"';
  }
  return line + '\n';
}

CsvTable::CsvTable(std::string_view text, const std::string& where)
    : where_(where), lines_(read_csv_table(text, where)) {
  std::set<std::string_view> seen;  // a cell is found by the name of its column
  for (const std::string& name : header()) {
    if (!seen.insert(name).second)
      throw InputError(
          fmt::format("{}: two columns are '{}'; rename one", where, name.substr(0, 40)));
  }
}

bool CsvTable::has(std::string_view column) const {
  return std::find(header().begin(), header().end(), column) != header().end();
}

std::string CsvTable::cell(std::size_t row, std::string_view column) const {
  const auto found = std::find(header().begin(), header().end(), column);
  if (found == header().end()) throw InputError(where_ + ": has no column " + std::string(column));
  return lines_[row + 1][static_cast<std::size_t>(found - header().begin())];
}

double CsvTable::number(std::size_t row, std::string_view column) const {
  return parse_number(cell(row, column), at(row) + ", " + std::string(column));
}

}  // namespace nsa::exchange
