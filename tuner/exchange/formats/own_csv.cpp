// The CSV that export writes where no format is named: a line for each row, without raw samples.
#include <algorithm>
#include <concepts>
#include <map>
#include <set>
#include <utility>

#include "csv.hpp"
#include "foreign.hpp"
#include "formats.hpp"
#include "nsa/reports/export.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/fields/measurement.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/schemas/text.hpp"
#include "nsa/schemas/text/spreadsheet.hpp"
#include "nsa/schemas/variant_text.hpp"
#include "own.hpp"
#include "times.hpp"

namespace nsa::exchange {
namespace {

/// The cells of one line by their columns.
class Cells {
 public:
  Cells(const std::map<std::string, std::size_t>& columns, const CsvLine& line, std::string where)
      : columns_(columns), line_(line), where_(std::move(where)) {}

  const std::string& where() const { return where_; }
  bool has(const std::string& column) const { return columns_.contains(column); }

  /// As it was before a spreadsheet was kept from running it.
  std::string text(const std::string& column) const {
    const auto at = columns_.find(column);
    if (at == columns_.end()) throw InputError(where_ + ": has no column " + column);
    return without_guard(line_[at->second]);
  }

  void read(const std::string& column, std::string& value) const { value = text(column); }
  void read(const std::string& column, double& value) const {
    const Json number = Json::parse(text(column), nullptr, false);
    if (!number.is_number()) fail(column, "is not a number");
    value = number.get<double>();
  }
  /// A count of something.
  void read(const std::string& column, std::int64_t& value) const {
    value = integer(column);
    if (value < 0) fail(column, "is below 0");
  }
  void read(const std::string& column, std::optional<std::int64_t>& value) const {
    value = text(column).empty() ? std::nullopt : std::optional(integer(column));
  }
  void read(const std::string& column, bool& value) const {
    const std::string word = text(column);
    if (word != "true" && word != "false") fail(column, "is neither true nor false");
    value = word == "true";
  }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void read(const std::string& column, Enum& value) const {
    const auto known = from_string<Enum>(text(column));
    if (!known) fail(column, "is no value of it");
    value = *known;
  }
  template <class T>
  void read(const std::string& column, std::optional<T>& value) const {
    value.reset();
    if (!text(column).empty()) read(column, value.emplace());
  }

  [[noreturn]] void fail(const std::string& column, const std::string& what) const {
    throw InputError(where_ + ": " + column + ": '" + text(column).substr(0, 40) + "' " + what);
  }

 private:
  std::int64_t integer(const std::string& column) const {
    const Json value = Json::parse(text(column), nullptr, false);
    if (!value.is_number_integer() || (value.is_number_unsigned() && value > INT64_MAX))
      fail(column, "is not an integer");
    return value.get<std::int64_t>();
  }

  const std::map<std::string, std::size_t>& columns_;
  const CsvLine& line_;
  std::string where_;
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t at = 0;;) {
    const std::size_t end = text.find(separator, at);
    parts.push_back(text.substr(at, end - at));
    if (end == std::string::npos) return parts;
    at = end + 1;
  }
}

/// Files of older versions lack the columns of fields that they did not know.
template <fields::Kind kKind, class S, class M>
bool may_lack(const fields::Field<kKind, S, M>&) {
  return kKind == fields::Kind::unless_default;
}

/// Problems are few and rows are many: each text is read once.
using Problems = std::map<std::vector<std::pair<std::string, std::string>>, Problem>;

/// A problem's cells as problem_of_fields() reads them.
template <class T>
void add_problem_fields(const Cells& cells, const T& object,
                        std::vector<std::pair<std::string, std::string>>& to) {
  fields::each_field(object, [&]<class M>(const auto& field, const M& part) {
    if constexpr (fields::Described<M>) {
      add_problem_fields(cells, part, to);
    } else if (cells.has(field.name) || !may_lack(field)) {
      std::string text = cells.text(field.name);
      if constexpr (std::same_as<M, std::vector<std::int64_t>>)
        std::replace(text.begin(), text.end(), ';', '|');
      if constexpr (std::same_as<M, std::optional<double>>)
        if (text.empty()) text = "unknown";
      to.emplace_back(field.name, text);
    }
  });
}

const Problem& problem_of(const Cells& cells, Problems& known) {
  std::vector<std::pair<std::string, std::string>> fields;
  add_problem_fields(cells, Problem{}, fields);
  const auto found = known.find(fields);
  if (found != known.end()) return found->second;
  return known.emplace(fields, problem_of_fields(fields, cells.where())).first->second;
}

VariantId variant_of(const Cells& cells) {
  VariantId variant{split(cells.text("stages"), '+'), cells.text("variant"), {}};
  if (variant.name.empty() || variant.stages[0].empty())
    cells.fail("variant", "names no variant of a stage");
  try {
    variant.point = parse_point(cells.text("point"), cells.text("point"));
  } catch (const InputError&) {
    cells.fail("point", "is not NAME=INTEGER.NAME=INTEGER...");
  }
  for (const auto& [name, value] : variant.point)
    if (value < 0) cells.fail("point", "has a coordinate below 0");
  try {
    return parse_variant_id(to_string(variant));
  } catch (const InputError& error) {
    cells.fail("variant", error.what());
  }
}

/// Reads measurements, their cells being what reports::measurements_csv makes of the lists of
/// fields.
class RowReader {
 public:
  explicit RowReader(const Cells& cells, Problems& problems) : cells_(cells), problems_(problems) {}

  template <class T>
  void read_fields(T& object, const std::string& prefix = {}) {
    fields::each_field(object, [&](const auto& field, auto& value) {
      const std::string column = prefix + field.name;
      if (column != "job_key" && (cells_.has(column) || !may_lack(field))) read(column, value);
    });
  }

 private:
  template <class T>
  void read(const std::string& column, T& value) {
    if constexpr (fields::Described<T>) {
      read_fields(value);
    } else {
      cells_.read(column, value);
    }
  }
  /// Absent where the cell of its first field is empty.
  template <fields::Described Part>
  void read(const std::string& column, std::optional<Part>& part) {
    const std::string first = column + "_" + std::get<0>(fields::kFields<Part>).name;
    part.reset();
    if (!cells_.text(first).empty()) read_fields(part.emplace(), column + "_");
  }
  void read(const std::string&, Placement& placement) { read_fields(placement.emplace_back()); }
  void read(const std::string&, Problem& problem) { problem = problem_of(cells_, problems_); }
  void read(const std::string&, VariantId& variant) { variant = variant_of(cells_); }
  void read(const std::string&, std::vector<Sample>&) {}

  const Cells& cells_;
  Problems& problems_;
};

void require_counts(const Cells& cells, const Measurement& row) {
  const auto require = [&](const char* column, double value) {
    if (value < 0) cells.fail(column, "is below 0");
  };
  require("process", static_cast<double>(row.process));
  require("round", static_cast<double>(row.round));
  require("position", static_cast<double>(row.position));
  require("workspace_bytes", static_cast<double>(row.workspace_bytes.value_or(0)));
  require("grow_events", static_cast<double>(row.grow_events.value_or(0)));
  require("first_call_ns", static_cast<double>(row.first_call_ns.value_or(0)));
  require("flop", row.cost.flop);
  require("bytes", row.cost.bytes);
}

void read_row(const Cells& cells, Problems& problems, Measurement& row) {
  RowReader(cells, problems).read_fields(row);
  if (row.id.empty() || row.run_id.empty()) cells.fail("id", "names no row of a run");
  constexpr std::size_t kLongestName = 256;
  if (row.executor.empty() || row.executor.size() > kLongestName)
    cells.fail("executor", "is not a name of 1 to 256 characters");
  if (!row.measured_at.empty() && !is_time(row.measured_at))
    cells.fail("measured_at", "is no time such as 2026-11-21T12:00:00.000Z");
  require_counts(cells, row);
  row.job_key = hash_hex(row.id);
  // An empty cell says that there was no reason where clocks were read.
  if (row.clocks.sm_mhz && !row.clocks.throttle) row.clocks.throttle.emplace();
  stand_in_for_samples(row, cells.where());
}

/// All that a CSV says of a device.
Device device_of(const Cells& cells, const Measurement& row) {
  const std::string& uuid = row.placement[0].device_uuid;
  Device device = named_device(cells.text("device"), backend_of(uuid, row.timer));
  device.uuid = uuid;
  return device;
}

/// Runs by their ids, with the devices of their rows.
class Runs {
 public:
  explicit Runs(std::string where) : where_(std::move(where)) {}

  void add(const Cells& cells, const Measurement& row) {
    const auto [at, is_new] = heads_.try_emplace(row.run_id);
    Run& run = at->second.run;
    if (is_new) {
      run.id = row.run_id;
      run.spec_hash = hash_hex(row.run_id);
      run.spec_json = Json{{"import", {{"format", "csv"}, {"file", visible(where_)}}}}.dump();
      run.build_id = cells.text("build_id");
      run.environment_hash = cells.text("environment_hash");
      run.started_at = cells.text("run_started_at");
      run.state = RunState::complete;
    }
    run.ended_at = std::max(run.ended_at.value_or(run.started_at), row.measured_at);
    if (!devices_.insert({row.run_id, row.placement[0].device_uuid}).second) return;
    run.devices.push_back(device_of(cells, row));
  }

  std::vector<RunHead> take() {
    std::vector<RunHead> heads;
    for (auto& [id, head] : heads_) heads.push_back(std::move(head));
    return heads;
  }

 private:
  std::string where_;
  std::map<std::string, RunHead> heads_;
  std::set<std::pair<std::string, std::string>> devices_;
};

}  // namespace

Imported read_own_csv(const Input& input) {
  const std::vector<CsvLine> lines = read_csv_table(input.text, input.where);
  std::map<std::string, std::size_t> columns;
  for (std::size_t i = 0; i < lines[0].size(); ++i) columns.emplace(lines[0][i], i);
  if (!columns.contains("median_ns") || !columns.contains("run_id"))
    throw InputError(input.where + ": is not what nsatune export csv writes");
  Imported imported;
  Problems problems;
  Runs runs(input.where);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const Cells cells(columns, lines[i], input.where + ": row " + std::to_string(i));
    Measurement& row = imported.rows.emplace_back();
    read_row(cells, problems, row);
    runs.add(cells, row);
  }
  imported.runs = runs.take();
  for (const RunHead& head : imported.runs)
    imported.devices.insert(imported.devices.end(), head.run.devices.begin(),
                            head.run.devices.end());
  imported.notes.push_back(
      "a CSV has neither raw samples nor driver and libraries of its runs: decisions from it name "
      "the device alone");
  return imported;
}

Bundle write_own_csv(const Results& results, const std::string&) {
  std::vector<Run> runs;
  for (const RunHead& head : results.runs) runs.push_back(head.run);
  return {reports::measurements_csv(results.rows, runs), {}};
}

}  // namespace nsa::exchange
