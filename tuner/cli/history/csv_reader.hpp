// Comma-separated values (RFC 4180), a record at a time, that knows on which line of a file it is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nsa::cli {

struct CsvRecord {
  std::int64_t line = 0;  // on which it begins, from 1
  std::vector<std::string> cells;
};

/// Reads a text that outlives it. Quoted cells may hold commas, quotes and line breaks; LF and CR
/// LF end a line; a byte order mark is passed over, and so are empty lines.
class CsvReader {
 public:
  CsvReader(std::string_view text, std::string where);
  /// False at the end. InputError "<where>:<line>: ..." on a quote out of place, control
  /// characters, bytes that are no UTF-8, or a record longer than kMaxRecordBytes.
  bool next(CsvRecord& record);

  static constexpr std::size_t kMaxRecordBytes = std::size_t{512} << 10;

 private:
  std::string quoted_cell();
  std::string plain_cell();
  bool at_end() const { return at_ == text_.size(); }
  bool take_line_end();
  void take_character(std::string& cell);
  [[noreturn]] void refuse(std::int64_t line, const std::string& what) const;

  std::string_view text_;
  std::string where_;
  std::size_t at_ = 0, begin_ = 0;
  std::int64_t line_ = 1;
};

}  // namespace nsa::cli
