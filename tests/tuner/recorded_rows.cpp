#include "recorded_rows.hpp"

#include <cmath>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>

namespace nsa::test {
namespace {

using Fields = std::map<std::string, std::string>;

std::string unpacked(const std::string& path) {
  FILE* pipe = popen(("gzip -dc " + path).c_str(), "r");
  if (!pipe) throw std::runtime_error("cannot start gzip");
  std::string text;
  char buffer[1 << 16];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
  if (pclose(pipe) != 0) throw std::runtime_error("gzip failed on " + path);
  return text;
}

/// The cells of the line at `at`, which goes behind it. Cells in quotes hold commas and "".
std::vector<std::string> cells(const std::string& text, std::size_t& at) {
  std::vector<std::string> result(1);
  bool quoted = false;
  for (; at < text.size() && (quoted || text[at] != '\n'); ++at) {
    if (text[at] == '"') {
      if (quoted && text[at + 1] == '"')
        result.back() += text[++at];
      else
        quoted = !quoted;
    } else if (text[at] == ',' && !quoted) {
      result.emplace_back();
    } else if (text[at] != '\r') {
      result.back() += text[at];
    }
  }
  ++at;
  return result;
}

std::vector<std::string> parts(const std::string& text, char separator) {
  std::vector<std::string> result;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t end = std::min(text.find(separator, from), text.size());
    result.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return result;
}

std::vector<std::int64_t> numbers(const std::string& text) {
  std::vector<std::int64_t> result;
  for (const std::string& part : parts(text, ';')) result.push_back(std::stoll(part));
  return result;
}

Problem problem_of(const Fields& f) {
  const auto number = [&](const char* key) { return std::stoll(f.at(key)); };
  Problem p;
  p.phase = from_string<Phase>(f.at("phase")).value();
  p.seq_lens = numbers(f.at("seq_lens"));
  p.context_lens = numbers(f.at("context_lens"));
  p.q_heads = number("q_heads");
  p.kv_heads = number("kv_heads");
  p.head_dim_k = number("head_dim_k");
  p.head_dim_v = number("head_dim_v");
  p.geometry = {number("cmp_block"), number("cmp_stride"), number("sel_block"), number("sel_count"),
                number("window")};
  p.dtype = from_string<Dtype>(f.at("dtype")).value();
  p.selection.pattern = from_string<SelectionPattern>(f.at("pattern")).value();
  if (!f.at("overlap").empty()) p.selection.overlap = std::stod(f.at("overlap"));
  p.model = {number("model_dim"), number("layers"), 0};
  return p;
}

VariantId variant_of(const Fields& f) {
  VariantId id{parts(f.at("stages"), '+'), f.at("variant"), {}};
  if (f.at("point").empty()) return id;
  for (const std::string& coordinate : parts(f.at("point"), ';')) {
    const auto pair = parts(coordinate, '=');
    id.point.emplace_back(pair.at(0), std::stoll(pair.at(1)));
  }
  return id;
}

Measurement row_of(const Fields& f) {
  Measurement row;
  row.run_id = f.at("run_id");
  row.executor = f.at("executor");
  row.problem = problem_of(f);
  row.variant = variant_of(f);
  row.source_hash = f.at("source_hash");
  row.process = std::stoll(f.at("process"));
  row.round = std::stoll(f.at("round"));
  row.position = std::stoll(f.at("position"));
  row.pair_id = f.at("pair_id");
  row.control = f.at("control") == "true";
  row.launch = from_string<LaunchMode>(f.at("launch")).value();
  row.timer = from_string<Timer>(f.at("timer")).value();
  row.outcome = from_string<Outcome>(f.at("outcome")).value();
  row.verification = from_string<Verification>(f.at("verification")).value();
  if (f.at("median_ns").empty()) return row;
  const auto ns = static_cast<std::int64_t>(std::llround(std::stod(f.at("median_ns"))));
  row.samples = {{.start_ns = 0, .device_ns = ns, .host_ns = ns, .cycles = {}}};
  row.samples_n = 1;
  return row;
}

}  // namespace

std::vector<Measurement> recorded_rows() {
  const std::string text = unpacked(std::string(NSA_SOURCE_DIR) + "/docs/results/h200.csv.gz");
  std::size_t at = 0;
  const std::vector<std::string> names = cells(text, at);
  std::vector<Measurement> rows;
  while (at < text.size()) {
    const std::vector<std::string> values = cells(text, at);
    Fields fields;
    for (std::size_t i = 0; i < values.size(); ++i) fields[names.at(i)] = values[i];
    rows.push_back(row_of(fields));
  }
  return rows;
}

}  // namespace nsa::test
