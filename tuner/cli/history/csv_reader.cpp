#include "csv_reader.hpp"

#include <fmt/format.h>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/text.hpp"

namespace nsa::cli {

CsvReader::CsvReader(std::string_view text, std::string where)
    : text_(without_byte_order_mark(text)), where_(std::move(where)) {}

void CsvReader::refuse(std::int64_t line, const std::string& what) const {
  throw InputError(fmt::format("{}:{}: {}", where_, line, what));
}

bool CsvReader::take_line_end() {
  if (text_.substr(at_).starts_with("\r\n")) ++at_;
  if (at_end() || text_[at_] != '\n') return false;
  ++at_;
  ++line_;
  return true;
}

/// One character of a cell, whole: what is printed of it later is text.
void CsvReader::take_character(std::string& cell) {
  const CodePoint point = next_code_point(text_.substr(at_));
  if (!point.valid) refuse(line_, "has bytes that are not UTF-8; save it as UTF-8 text");
  if (point.value < ' ' && point.value != '\t')
    refuse(line_, "has control characters; is it a CSV file?");
  if (at_ + point.bytes - begin_ > kMaxRecordBytes)
    refuse(line_, fmt::format("is longer than {} KiB; is it a CSV file?", kMaxRecordBytes >> 10));
  cell.append(text_.substr(at_, point.bytes));
  at_ += point.bytes;
}

std::string CsvReader::quoted_cell() {
  const std::int64_t opened = line_;
  std::string cell;
  for (++at_;;) {
    if (at_end()) refuse(opened, "a quote is never closed");
    if (text_[at_] != '"') {
      if (take_line_end()) {
        cell += '\n';
      } else {
        take_character(cell);
      }
      continue;
    }
    if (!text_.substr(at_).starts_with("\"\"")) break;
    cell += '"';
    at_ += 2;
  }
  ++at_;
  const bool ends = at_end() || text_[at_] == ',' || text_[at_] == '\n' || text_[at_] == '\r';
  if (!ends) refuse(line_, "text follows a closing quote; double quotes that belong to the text");
  return cell;
}

std::string CsvReader::plain_cell() {
  std::string cell;
  while (!at_end() && text_[at_] != ',' && text_[at_] != '\n') {
    if (text_.substr(at_).starts_with("\r\n")) break;
    if (text_[at_] == '"')
      refuse(line_, "a quote inside an unquoted cell; quote the whole cell and double the quote");
    take_character(cell);
  }
  return cell;
}

bool CsvReader::next(CsvRecord& record) {
  while (take_line_end()) {
  }
  if (at_end()) return false;
  record.line = line_;
  record.cells.clear();
  begin_ = at_;
  while (true) {
    record.cells.push_back(!at_end() && text_[at_] == '"' ? quoted_cell() : plain_cell());
    if (at_end() || take_line_end()) return true;
    ++at_;  // the comma
  }
}

}  // namespace nsa::cli
