// The users' own result files, told apart by what stands in them. None names a device, a dtype or
// heads unless said below; what is missing are the defaults of a problem, and a note says so.
#include "nsa_vibe.hpp"

#include <algorithm>

#include "csv.hpp"
#include "formats.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/text.hpp"
#include "times.hpp"

namespace nsa::exchange {
namespace {

bool begins_with(const CsvLine& header, const CsvLine& names) {
  return header.size() >= names.size() && std::equal(names.begin(), names.end(), header.begin());
}

/// The cells of the first line that is not empty: what is no table of theirs has to have no rows.
CsvLine header_of(const Input& input) {
  const std::size_t from = std::min(input.text.find_first_not_of("\r\n"), input.text.size());
  const std::string_view line = input.text.substr(from, input.text.find('\n', from) - from);
  if (std::ranges::count(line, '"') % 2 != 0) return {};  // goes on below
  const std::vector<CsvLine> lines = read_csv(line, input.where);
  return lines.empty() ? CsvLine() : lines.front();
}

/// Texts are known by words in them.
struct Kind {
  std::string_view sign;
  Imported (*read)(const Input& input);
};

constexpr Kind kTexts[] = {
    {"## Recommended Thresholds", read_nsa_vibe_report},
    {"Sliding window benchmark", read_nsa_vibe_log},
    {"Compressed attention benchmark", read_nsa_vibe_log},
};

Imported read_known(const Input& input) {
  for (const Kind& kind : kTexts) {
    if (input.text.find(kind.sign) != std::string_view::npos) return kind.read(input);
  }
  if (const auto first = input.text.find_first_not_of(" \t\r\n");
      first != std::string_view::npos && input.text[first] == '{')
    return read_nsa_vibe_guard(input);
  const CsvLine header = header_of(input);
  if (begins_with(header, {"S", "ms_total"}))
    return read_nsa_vibe_decode(CsvTable(input.text, input.where), input);
  if (begins_with(header, {"mode", "N", "H", "D", "Dv", "L"}))
    return read_nsa_vibe_selection(CsvTable(input.text, input.where), input);
  throw InputError(input.where +
                   ": is not a known result file of nsa-vibe; known are decode and selection "
                   "CSV, FA-2 logs and reports, decode guards");
}

}  // namespace

const RecordSource& nsa_vibe_source() {
  static const RecordSource source{"nsa-vibe", "", Backend::cuda};
  return source;
}

void add_row(Imported& imported, const Record& record, const VariantId& variant,
             const Problem& problem, const Input& input) {
  const Device device = device_of(nsa_vibe_source(), input.mapping);
  if (imported.devices.empty()) imported.devices = {device};
  Measurement row = measured_row(record, nsa_vibe_source(), device);
  row.variant = variant;
  row.problem = problem;
  require_valid(problem, input.where);
  imported.rows.push_back(std::move(row));
}

std::int64_t length_of(double value, const std::string& where) {
  if (!(value >= 1 && value <= 0x1p31) ||
      value != static_cast<double>(static_cast<std::int64_t>(value)))
    throw InputError(where + ": is not a length in tokens");
  return static_cast<std::int64_t>(value);
}

Imported read_nsa_vibe(const Input& input) {
  require_text(input.text, input.where);
  Input plain = input;
  plain.text = without_byte_order_mark(input.text);
  Imported imported = read_known(plain);
  if (imported.rows.empty()) throw InputError(input.where + ": holds no result");
  return imported;
}

}  // namespace nsa::exchange
