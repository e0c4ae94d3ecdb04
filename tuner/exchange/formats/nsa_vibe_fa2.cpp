// The benchmark of FA-2 against masked attention: its logs, and the report made of them.
#include <algorithm>

#include "nsa/schemas/error.hpp"
#include "nsa_vibe.hpp"
#include "times.hpp"

namespace nsa::exchange {
namespace {

constexpr std::size_t kLongestLine = 4096;  // bytes; longer ones are no result

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.emplace_back(text.substr(at, std::min(end - at, kLongestLine)));
    at = end + 1;
  }
  return lines;
}

/// Text between `before` and the next `after`, without spaces; "" where it is not there.
std::string between(const std::string& line, const std::string& before, char after) {
  std::size_t at = line.find(before);
  if (at == std::string::npos) return "";
  at = line.find_first_not_of(' ', at + before.size());
  if (at == std::string::npos) return "";
  return line.substr(at, std::min(line.find(after, at), line.size()) - at);
}

struct Pair {
  std::string stage;
  Problem problem;
  std::string masked_ms, fa2_ms;
};

void add_pair(Imported& imported, const Pair& pair, const Input& input, const std::string& where) {
  const auto add = [&](const char* name, const std::string& ms) {
    Record record{.statistic = "one sample: the mean of the file"};
    record.device_ns = {nanoseconds(parse_number(ms, where), kMillisecond, where)};
    add_row(imported, record, {{pair.stage}, name, {}}, pair.problem, input);
  };
  add("masked", pair.masked_ms);
  add("fa2", pair.fa2_ms);
}

std::int64_t field(const std::string& line, const std::string& name, const std::string& where) {
  return length_of(parse_number(between(line, name, ' '), where + ": " + name),
                   where + ": " + name);
}

/// A line `S=64 w=96 sliding masked 1.50 ms  fa2 2.50 ms  speedup x0.60`.
Pair pair_of_line(const std::string& line, const std::string& where) {
  Pair pair;
  pair.problem.seq_lens = {field(line, "S=", where)};
  if (line.find(" sliding ") != std::string::npos) {
    pair.stage = "attend_window";
    pair.problem.geometry.window = field(line, "w=", where);
  } else {
    pair.stage = "attend_compressed";
    pair.problem.geometry.cmp_block = field(line, "l=", where);
    pair.problem.geometry.cmp_stride = field(line, "d=", where);
  }
  pair.masked_ms = between(line, " masked ", ' ');
  pair.fa2_ms = between(line, " fa2 ", ' ');
  return pair;
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  for (std::size_t at = 1; at < line.size();) {
    const std::size_t end = std::min(line.find('|', at), line.size());
    std::string cell = line.substr(at, end - at);
    cell.erase(0, std::min(cell.find_first_not_of(' '), cell.size()));
    cell.erase(cell.find_last_not_of(' ') + 1);
    cells.push_back(std::move(cell));
    at = end + 1;
  }
  return cells;
}

std::string cell_of(const std::vector<std::string>& head, const std::vector<std::string>& cells,
                    const std::string& name, const std::string& where) {
  const auto at =
      static_cast<std::size_t>(std::find(head.begin(), head.end(), name) - head.begin());
  if (at >= head.size() || at >= cells.size()) throw InputError(where + ": has no cell " + name);
  return cells[at];
}

Pair pair_of_cells(const std::string& stage, const std::vector<std::string>& head,
                   const std::vector<std::string>& cells, const std::string& where) {
  const auto number = [&](const char* name) {
    return length_of(parse_number(cell_of(head, cells, name, where), where), where + ": " + name);
  };
  Pair pair;
  pair.stage = stage;
  pair.masked_ms = cell_of(head, cells, "Masked (ms)", where);
  pair.fa2_ms = cell_of(head, cells, "FA-2 (ms)", where);
  pair.problem.seq_lens = {number("S")};
  if (stage == "attend_window") pair.problem.geometry.window = number("w");
  return pair;
}

/// "- `runtime.fa2_min_len_cmp`: **32**" with its unit: what the file advises, for the run's spec.
void add_advice(Imported& imported, const std::string& line) {
  const std::string name = between(line, "`runtime.", '`'), value = between(line, "**", '*');
  if (name.empty() || value.empty()) return;
  const char* unit = name == "fa2_min_len_cmp" ? "compressed tokens" : "tokens";
  imported.notes.push_back("the file advises " + name + " = " + value + " " + unit +
                           "; kept as a note, decisions are made of the times");
}

}  // namespace

Imported read_nsa_vibe_log(const Input& input) {
  Imported imported;
  std::size_t number = 0;
  for (const std::string& line : lines_of(input.text)) {
    const std::string where = input.where + ":" + std::to_string(++number);
    if (line.starts_with("S=")) add_pair(imported, pair_of_line(line, where), input, where);
    if (line.find("Error: ") != std::string::npos)
      imported.notes.push_back("the benchmark ended early: " + line.substr(0, 120));
  }
  imported.notes.push_back("FA-2 log: heads, widths and dtype are defaults");
  return imported;
}

Imported read_nsa_vibe_report(const Input& input) {
  Imported imported;
  std::string stage;
  std::vector<std::string> head;
  std::size_t number = 0;
  for (const std::string& line : lines_of(input.text)) {
    const std::string where = input.where + ":" + std::to_string(++number);
    if (line.starts_with("###")) {
      stage = line.find("Sliding") != std::string::npos ? "attend_window" : "attend_compressed";
      head.clear();
    }
    if (line.starts_with("- `runtime.")) add_advice(imported, line);
    if (!line.starts_with('|') || line.starts_with("|-") || stage.empty()) continue;
    const std::vector<std::string> cells = cells_of(line);
    if (head.empty()) {
      head = cells;
    } else {
      add_pair(imported, pair_of_cells(stage, head, cells, where), input, where);
    }
  }
  imported.notes.push_back("FA-2 report: heads, widths and dtype are defaults");
  return imported;
}

}  // namespace nsa::exchange
