// The CSV that export writes where no format is named: a line for each row, without raw samples.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "csv.hpp"
#include "foreign.hpp"
#include "formats.hpp"
#include "nsa/reports/export.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/schemas/variant_text.hpp"
#include "own.hpp"

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
    if (at->second >= line_.size()) return "";
    const std::string& cell = line_[at->second];
    const bool guarded = cell.size() > 1 && cell[0] == '\'' &&
                         std::string_view("=+-@\t\r").find(cell[1]) != std::string_view::npos;
    return guarded ? cell.substr(1) : cell;
  }

  double number(const std::string& column) const {
    const Json value = Json::parse(text(column), nullptr, false);
    if (!value.is_number()) fail(column, "is not a number");
    return value.get<double>();
  }
  std::optional<double> number_if_any(const std::string& column) const {
    return text(column).empty() ? std::nullopt : std::optional(number(column));
  }

  std::int64_t integer(const std::string& column) const {
    const Json value = Json::parse(text(column), nullptr, false);
    if (!value.is_number_integer() || (value.is_number_unsigned() && value > INT64_MAX))
      fail(column, "is not an integer");
    return value.get<std::int64_t>();
  }
  std::optional<std::int64_t> integer_if_any(const std::string& column) const {
    return text(column).empty() ? std::nullopt : std::optional(integer(column));
  }
  std::int64_t count(const std::string& column) const {
    const std::int64_t value = integer(column);
    if (value < 0) fail(column, "is below 0");
    return value;
  }

  bool flag(const std::string& column) const {
    const std::string value = text(column);
    if (value != "true" && value != "false") fail(column, "is neither true nor false");
    return value == "true";
  }

  template <class Enum>
  Enum word(const std::string& column) const {
    const auto value = from_string<Enum>(text(column));
    if (!value) fail(column, "is no value of it");
    return *value;
  }

  [[noreturn]] void fail(const std::string& column, const std::string& what) const {
    throw InputError(where_ + ": " + column + ": '" + text(column).substr(0, 40) + "' " + what);
  }

 private:
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

/// Problems are few and rows are many: each text is read once.
using Problems = std::map<std::vector<std::pair<std::string, std::string>>, Problem>;

const Problem& problem_of(const Cells& cells, Problems& known) {
  std::vector<std::pair<std::string, std::string>> fields;
  for (const char* name : {"direction", "phase", "q_heads", "kv_heads", "head_dim_k", "head_dim_v",
                           "cmp_block", "cmp_stride", "sel_block", "sel_count", "window", "dtype",
                           "pattern", "model_dim", "layers"})
    fields.emplace_back(name, cells.text(name));
  for (const char* name : {"seq_lens", "context_lens"}) {
    std::string lengths = cells.text(name);
    std::replace(lengths.begin(), lengths.end(), ';', '|');
    fields.emplace_back(name, lengths);
  }
  const std::string overlap = cells.text("overlap");
  fields.emplace_back("overlap", overlap.empty() ? "unknown" : overlap);
  if (cells.has("vocab_size")) fields.emplace_back("vocab_size", cells.text("vocab_size"));
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
  return variant;
}

void set_place_in_run(const Cells& cells, Measurement& row) {
  row.id = cells.text("id");
  row.run_id = cells.text("run_id");
  if (row.id.empty() || row.run_id.empty()) cells.fail("id", "names no row of a run");
  row.job_key = hash_hex(row.id);
  row.executor = cells.text("executor");
  row.placement = {{cells.text("host"), cells.text("device_uuid")}};
  row.source_hash = cells.text("source_hash");
  row.process = cells.count("process");
  row.round = cells.count("round");
  row.position = cells.count("position");
  row.pair_id = cells.text("pair_id");
  row.control = cells.flag("control");
  row.held_out = cells.flag("held_out");
  row.launch = cells.word<LaunchMode>("launch");
  row.timer = cells.word<Timer>("timer");
  row.cold = cells.flag("cold");
  row.measured_at = cells.text("measured_at");
}

void set_need(const Cells& cells, Measurement& row) {
  if (cells.text("need_varlen_n").empty()) return;
  row.need = ReserveNeed{cells.count("need_varlen_n"), cells.count("need_varlen_k"),
                         cells.count("need_sel_pack_n"), cells.count("need_sel_pack_l")};
}

void set_result(const Cells& cells, Measurement& row) {
  row.outcome = cells.word<Outcome>("outcome");
  row.reason = cells.text("reason");
  row.note = cells.text("note");
  row.verification = cells.word<Verification>("verification");
  row.worst_row_error = cells.number_if_any("worst_row_error");
  row.first_call_ns = cells.integer_if_any("first_call_ns");
  row.workspace_bytes = cells.integer_if_any("workspace_bytes");
  row.grow_events = cells.integer_if_any("grow_events");
  set_need(cells, row);
  row.median_ns = cells.number_if_any("median_ns");
  row.mad_ns = cells.number_if_any("mad_ns");
  row.samples_n = cells.count("samples_n");
  stand_in_for_samples(row, cells.where());
  row.cost = {cells.number("flop"), cells.number("bytes")};
  row.clocks = {cells.number_if_any("sm_mhz"), cells.number_if_any("memory_mhz"),
                cells.number_if_any("temperature_c"), cells.number_if_any("power_w"), std::nullopt};
  if (row.clocks.sm_mhz || !cells.text("throttle").empty())
    row.clocks.throttle = cells.text("throttle");
}

/// All that a CSV says of a device.
Device device_of(const Cells& cells, const Measurement& row) {
  const Backend backend = row.timer == Timer::host ? Backend::cpu : Backend::cuda;
  Device device = named_device(cells.text("device"), backend);
  device.uuid = row.placement[0].device_uuid;
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
      run.spec_json = Json{{"import", {{"format", "csv"}, {"file", where_}}}}.dump();
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
  const std::vector<CsvLine> lines = read_csv(input.text, input.where);
  if (lines.empty()) throw InputError(input.where + ": is empty");
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
    set_place_in_run(cells, row);
    row.problem = problem_of(cells, problems);
    row.variant = variant_of(cells);
    set_result(cells, row);
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
