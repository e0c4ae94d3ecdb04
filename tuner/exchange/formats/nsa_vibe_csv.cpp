// Decode steps, and the benchmarks of selected attention in Triton.
#include <algorithm>

#include "nsa/schemas/error.hpp"
#include "nsa_vibe.hpp"
#include "times.hpp"
#include "tree.hpp"

namespace nsa::exchange {
namespace {

Problem decode_after(std::int64_t context) {
  Problem problem;
  problem.phase = Phase::decode;
  problem.seq_lens = {1};
  problem.context_lens = {context};
  return problem;
}

/// N rows of L keys each, all of them selected: as many sequences that decode one token. The
/// benchmark's rows have one KV head; selection blocks of 64 cover the L keys.
Problem selection_problem(const CsvTable& table, std::size_t row) {
  const auto whole = [&](const char* column) {
    return length_of(table.number(row, column), table.at(row) + ", " + column);
  };
  const std::int64_t rows = whole("N"), keys = whole("L");
  if (rows > 65536) throw InputError(table.at(row) + ", N: more than 65536 rows");
  Problem problem = decode_after(keys - 1);
  problem.seq_lens.assign(static_cast<std::size_t>(rows), 1);
  problem.context_lens.assign(static_cast<std::size_t>(rows), keys - 1);
  problem.q_heads = whole("H");
  problem.kv_heads = 1;
  problem.head_dim_k = whole("D");
  problem.head_dim_v = whole("Dv");
  problem.geometry.sel_count = std::max<std::int64_t>(
      3, (keys + problem.geometry.sel_block - 1) / problem.geometry.sel_block);
  return problem;
}

Record selection_record(const CsvTable& table, std::size_t row, const char* column) {
  Record record;
  const std::string cell = table.cell(row, column), status = table.cell(row, "status");
  if (cell == "ERROR") {
    record.outcome = Outcome::crashed;
    record.reason = status;
    return record;
  }
  record.device_ns = {nanoseconds(table.number(row, column), kMillisecond, table.at(row))};
  record.statistic = "one sample: the time of the file; it says status " + status;
  // The file gives an error and no verdict on it, so nobody has said that the answer is right.
  if (column == std::string_view("tri_ms") && table.has("mae"))
    record.statistic += ", mean absolute error " + table.cell(row, "mae") + " against ref";
  if (table.has("nspans")) record.statistic += ", " + table.cell(row, "nspans") + " spans a row";
  return record;
}

}  // namespace

Imported read_nsa_vibe_decode(const CsvTable& table, const Input& input) {
  struct Column {
    const char* name;
    const char* variant;
    const char* forced = nullptr;  // the branch that all gates are forced to
  };
  // Each is a step of its own, not a part of the first.
  constexpr Column kColumns[] = {{"ms_total", "decode"},
                                 {"ms_cmp", "decode_only_cmp", "compressed"},
                                 {"ms_sel", "decode_only_sel", "selected"},
                                 {"ms_win", "decode_only_win", "window"}};
  Imported imported;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const Problem problem = decode_after(length_of(table.number(row, "S"), table.at(row) + ", S"));
    for (const Column& column : kColumns) {
      if (!table.has(column.name)) continue;
      Record record{.statistic = "one sample: the time of the file"};
      record.device_ns = {nanoseconds(table.number(row, column.name), kMillisecond, table.at(row))};
      if (table.has("reads_actual"))
        record.statistic += "; reads " + table.cell(row, "reads_actual") + " tokens, expected " +
                            table.cell(row, "reads_expected");
      // Faster than attention, but not its answer: so it is kept and nobody chooses it.
      if (column.forced) {
        record.verification = Verification::wrong_result;
        record.reason = std::string("the gates are forced to the ") + column.forced +
                        " branch: not the answer of attention";
      }
      add_row(imported, record, {{"attention"}, column.variant, {}}, problem, input);
    }
  }
  imported.notes = {"decode: S is taken as the context; heads, widths and dtype are defaults"};
  return imported;
}

Imported read_nsa_vibe_selection(const CsvTable& table, const Input& input) {
  Imported imported;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string mode = word_of(table.cell(row, "mode"));
    const Problem problem = selection_problem(table, row);
    add_row(imported, selection_record(table, row, "tri_ms"),
            {{"attend_selected"}, "triton_" + mode, {}}, problem, input);
    add_row(imported, selection_record(table, row, "ref_ms"),
            {{"attend_selected"}, "reference_" + mode, {}}, problem, input);
  }
  imported.notes = {
      "selection: N rows of L keys are N sequences that decode one token with all of "
      "their L keys selected; the dtype is a default"};
  return imported;
}

Imported read_nsa_vibe_guard(const Input& input) {
  const Tree file = parse_tree(input.text, input.where);
  Imported imported;
  for (const auto& [length, ms] : file.items()) {
    const std::string where = input.where + ": " + length.substr(0, 40);
    Record record{.statistic = "one sample: the guard's value, taken as ms"};
    record.device_ns = {nanoseconds(number_of(ms, where), kMillisecond, where)};
    add_row(imported, record, {{"attention"}, "decode", {}},
            decode_after(length_of(parse_number(length, where), where)), input);
  }
  imported.notes = {
      "decode guard: values are taken as ms of a step, keys as contexts; heads, "
      "widths and dtype are defaults"};
  return imported;
}

}  // namespace nsa::exchange
