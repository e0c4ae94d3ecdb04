// CSV in the form of PyTorch's TunableOp: `Validator,KEY,VALUE` lines, then
// `op,params,solution,average in ms`. The first line of an op with its params is its winner.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "csv.hpp"
#include "foreign.hpp"
#include "formats.hpp"
#include "group.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/text/spreadsheet.hpp"
#include "own.hpp"
#include "settings_text.hpp"
#include "times.hpp"

namespace nsa::exchange {
namespace {

constexpr const char* kValidator = "Validator";
constexpr const char* kOwnValidator = "NSATUNE";
constexpr const char* kStatistic = "one sample: the mean of the measured ones";

/// Mean of all samples that count, in whole ns; nothing where none does. What was held out would
/// decide once it is read back: the format cannot say so.
std::optional<std::int64_t> mean_ns(const Group& group) {
  double sum = 0, n = 0;
  for (const Measurement* row : group.rows) {
    if (!counts(*row) || row->held_out) continue;
    for (const Sample& sample : row->samples) sum += static_cast<double>(sample.device_ns);
    n += static_cast<double>(row->samples.size());
  }
  if (n == 0) return std::nullopt;
  return std::llround(sum / n);
}

struct Line {
  std::string op, params, solution;
  std::int64_t ns = 0;
};

/// Fastest first within an op and its params, both in the order in which they appear.
std::vector<Line> lines_of(const Results& results) {
  std::vector<Line> lines;
  std::map<std::string, std::size_t> order;
  for (const Group& group : group_rows(results.rows)) {
    const auto mean = mean_ns(group);
    if (!mean) continue;
    const Measurement& row = group.first();
    lines.push_back({stages_text(row.variant), settings_text(row), name_text(row.variant), *mean});
    order.emplace(lines.back().op + "\n" + lines.back().params, order.size());
  }
  std::stable_sort(lines.begin(), lines.end(), [&](const Line& a, const Line& b) {
    return std::pair(order[a.op + "\n" + a.params], a.ns) <
           std::pair(order[b.op + "\n" + b.params], b.ns);
  });
  return lines;
}

struct Validators {
  std::string device_name, device_uuid, executor, run;
  bool own = false;
};

Validators take_validator(Validators all, const CsvLine& line) {
  if (line[1] == kOwnValidator) all.own = true;
  if (line[1] == "DEVICE_NAME" || line[1] == "GCN_ARCH_NAME") all.device_name = line[2];
  if (line[1] == "DEVICE_UUID") all.device_uuid = line[2];
  if (line[1] == "EXECUTOR") all.executor = line[2];
  if (line[1] == "RUN") all.run = line[2];
  return all;
}

/// "nn_1024_64" as p0 = nn, p1 = 1024, p2 = 64.
Record foreign_record(const CsvLine& line, const std::string& where) {
  Record record{.subject = line[2], .params = {{"op", line[0]}, {"solution", line[2]}}};
  std::size_t number = 0;
  for (std::size_t at = 0; at != std::string::npos; ++number) {
    const std::size_t end = line[1].find('_', at);
    record.params.emplace_back("p" + std::to_string(number), line[1].substr(at, end - at));
    at = end == std::string::npos ? end : end + 1;
  }
  record.device_ns = {nanoseconds(parse_number(line[3], where), kMillisecond, where)};
  record.statistic = kStatistic;
  return record;
}

Measurement own_row(const CsvLine& line, const Validators& validators, const std::string& where) {
  const std::int64_t ns = nanoseconds(parse_number(line[3], where), kMillisecond, where);
  const Record record{.device_ns = {ns}, .statistic = kStatistic};
  Measurement row = measured_row(record, {validators.executor, "", {}}, {});
  row.placement = {{"", validators.device_uuid}};
  row.run_id = validators.run;
  row.variant = parse_variant_id(line[0] + "/" + line[2]);
  set_settings(row, line[1], where);
  return row;
}

Validators without_guards(Validators all) {
  for (std::string* text : {&all.device_name, &all.device_uuid, &all.executor, &all.run})
    *text = without_guard(*text);
  return all;
}

Imported own_rows(std::vector<CsvLine> lines, const Validators& guarded, const std::string& where) {
  const Validators validators = without_guards(guarded);
  for (CsvLine& line : lines) std::ranges::transform(line, line.begin(), without_guard);
  if (validators.executor.empty()) throw InputError(where + ": has no Validator EXECUTOR");
  Imported imported;
  for (const CsvLine& line : lines) imported.rows.push_back(own_row(line, validators, where));
  const Timer timer = imported.rows.empty() ? Timer::events : imported.rows.front().timer;
  Device device = named_device(validators.device_name, backend_of(validators.device_uuid, timer));
  if (!validators.device_uuid.empty()) device.uuid = validators.device_uuid;
  imported.devices = {device};
  return imported;
}

}  // namespace

Bundle write_tunableop(const Results& results, const std::string&) {
  const std::string device = one_device(results, "tunableop");
  std::string uuid, executor = "nsatune", run, newest;  // the newest run stands for all
  for (const Measurement& row : results.rows) {
    if (&row != &results.rows.front() && row.executor != executor)
      throw InputError(
          "export tunableop: rows of several executors, and the format holds one; "
          "narrow them with --run");
    executor = row.executor;
    if (row.measured_at >= newest) newest = row.measured_at, run = row.run_id;
    if (!row.placement.empty()) uuid = row.placement[0].device_uuid;
  }
  std::string text =
      csv_line({kValidator, kOwnValidator, "1"}) + csv_line({kValidator, "DEVICE_NAME", device}) +
      csv_line({kValidator, "DEVICE_UUID", uuid}) + csv_line({kValidator, "EXECUTOR", executor}) +
      csv_line({kValidator, "RUN", run});
  for (const Line& line : lines_of(results))
    text += csv_line({line.op, line.params, line.solution,
                      fmt::format("{:.6f}", static_cast<double>(line.ns) / kMillisecond)});
  return {text, {}};
}

Imported read_tunableop(const Input& input) {
  Validators validators;
  std::vector<CsvLine> lines;
  for (CsvLine& line : read_csv(input.text, input.where)) {
    const bool validator = line[0] == kValidator;
    if (line.size() < (validator ? 3u : 4u))
      throw InputError(input.where + ": '" + line[0].substr(0, 40) + "' has " +
                       std::to_string(line.size()) + " cells; op,params,solution,ms are expected");
    if (validator) {
      validators = take_validator(validators, line);
    } else {
      lines.push_back(std::move(line));
    }
  }
  if (validators.own) return own_rows(lines, validators, input.where);
  std::vector<Record> records;
  for (const CsvLine& line : lines) records.push_back(foreign_record(line, input.where));
  return rows_of_records(records, {"tunableop", validators.device_name, Backend::cuda}, input);
}

}  // namespace nsa::exchange
