#include "problem_row.hpp"

#include <limits>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "nsa/schemas/json.hpp"
#include "row.hpp"

namespace nsa::store {
namespace {

constexpr const char* kInsertProblem =
    "INSERT INTO problem (id, direction, phase, seq_lens, context_lens, batch, seq_len, "
    "context_len, q_heads, kv_heads, head_dim_k, head_dim_v, cmp_block, cmp_stride, sel_block, "
    "sel_count, window, dtype, pattern, overlap, model_dim, layers, vocab_size) "
    "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (id) DO NOTHING";
constexpr const char* kSelectProblem =
    "SELECT direction, phase, seq_lens, context_lens, q_heads, kv_heads, head_dim_k, head_dim_v, "
    "cmp_block, cmp_stride, sel_block, sel_count, window, dtype, pattern, overlap, model_dim, "
    "layers, vocab_size FROM problem WHERE id = ?";

std::string lengths_text(const std::vector<std::int64_t>& lengths) {
  return fmt::format("[{}]", fmt::join(lengths, ","));
}

[[noreturn]] void refuse(const std::string& where, const char* what) {
  throw InputError(fmt::format("{}: {}; name another file", where, what));
}

Json parse_cell(const std::string& text, const std::string& where) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) refuse(where, "holds text that is not JSON");
  return json;
}

std::int64_t integer_of(const Json& value, const std::string& where) {
  if (!value.is_number_integer()) refuse(where, "holds something that is not an integer");
  return value.get<std::int64_t>();
}

std::vector<std::int64_t> parse_lengths(const std::string& text, const std::string& where) {
  const Json json = parse_cell(text, where);
  if (!json.is_array()) refuse(where, "holds lengths that are not a list");
  std::vector<std::int64_t> lengths;
  for (const Json& value : json) lengths.push_back(integer_of(value, where));
  return lengths;
}

std::string point_text(const Point& point) {
  Json json = Json::object();
  for (const auto& [name, value] : point) json[name] = value;
  return json.dump();
}

/// Names of a foreign worker may be such that two variants have one text ("l2" = 3, "l" = 23).
bool is_named_by(const std::string& text, const VariantId& variant) {
  try {
    return parse_variant_id(text) == variant;
  } catch (const InputError&) {
    return false;
  }
}

std::vector<std::string> split_stages(const std::string& joined) {
  std::vector<std::string> stages(1);
  for (const char c : joined) {
    if (c == '+') {
      stages.emplace_back();
    } else {
      stages.back() += c;
    }
  }
  return stages;
}

}  // namespace

std::string problem_id(const Problem& p) {
  const Geometry& g = p.geometry;
  return hash_hex(fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}",
                              to_string(p.direction), to_string(p.phase), lengths_text(p.seq_lens),
                              lengths_text(p.context_lens), p.q_heads, p.kv_heads, p.head_dim_k,
                              p.head_dim_v, g.cmp_block, g.cmp_stride, g.sel_block, g.sel_count,
                              g.window, to_string(p.dtype), to_string(p.selection.pattern),
                              p.selection.overlap ? fmt::format("{}", *p.selection.overlap) : "",
                              p.model.model_dim, p.model.layers, p.model.vocab_size));
}

std::string joined_stages(const std::vector<std::string>& stages) {
  return fmt::format("{}", fmt::join(stages, "+"));
}

std::string variant_id(const VariantId& variant) {
  std::string text = to_string(variant);
  if (is_named_by(text, variant)) return text;
  return text + "#" +
         hash_hex(joined_stages(variant.stages) + "/" + variant.name + "/" +
                  point_text(variant.point));
}

std::string placement_id(const Placement& placement) {
  std::string content;
  for (const Placed& placed : placement) {
    content +=
        Json{placed.host, placed.device_uuid}.dump(-1, ' ', true, Json::error_handler_t::replace);
  }
  return hash_hex(content);
}

std::string put_problem(SQLite::Database& db, const Problem& p) {
  const std::string id = problem_id(p);
  const Geometry& g = p.geometry;
  SQLite::Statement insert(db, kInsertProblem);
  bind_values(insert, id, to_string(p.direction), to_string(p.phase), lengths_text(p.seq_lens),
              lengths_text(p.context_lens), p.batch(), p.max_seq_len(), p.max_context(), p.q_heads,
              p.kv_heads, p.head_dim_k, p.head_dim_v, g.cmp_block, g.cmp_stride, g.sel_block,
              g.sel_count, g.window, to_string(p.dtype), to_string(p.selection.pattern),
              p.selection.overlap, p.model.model_dim, p.model.layers, p.model.vocab_size);
  insert.exec();
  return id;
}

std::string put_variant(SQLite::Database& db, const VariantId& variant) {
  const std::string id = variant_id(variant);
  SQLite::Statement insert(
      db,
      "INSERT INTO variant (id, stages, name, point) VALUES (?,?,?,?) ON CONFLICT (id) DO "
      "NOTHING");
  bind_values(insert, id, joined_stages(variant.stages), variant.name, point_text(variant.point));
  insert.exec();
  return id;
}

std::string put_placement(SQLite::Database& db, const Placement& placement) {
  const std::string id = placement_id(placement);
  SQLite::Statement insert(db,
                           "INSERT INTO placement (id, position, host, device_uuid) VALUES "
                           "(?,?,?,?) ON CONFLICT (id, position) DO NOTHING");
  for (std::size_t i = 0; i < placement.size(); ++i) {
    bind_values(insert, id, i, placement[i].host, placement[i].device_uuid);
    insert.exec();
  }
  return id;
}

Problem get_problem(SQLite::Database& db, const std::string& id, const std::string& path) {
  const std::string where = path + ": problem " + id;
  SQLite::Statement query(db, kSelectProblem);
  bind_values(query, id);
  if (!query.executeStep()) refuse(where, "is missing");
  Row row(query, where);
  Problem p;
  p.direction = row.word<Direction>();
  p.phase = row.word<Phase>();
  p.seq_lens = parse_lengths(row.text(), where);
  p.context_lens = parse_lengths(row.text(), where);
  p.q_heads = row.integer();
  p.kv_heads = row.integer();
  p.head_dim_k = row.integer();
  p.head_dim_v = row.integer();
  Geometry& g = p.geometry;
  for (auto* field : {&g.cmp_block, &g.cmp_stride, &g.sel_block, &g.sel_count, &g.window}) {
    *field = row.integer();
  }
  p.dtype = row.word<Dtype>();
  p.selection.pattern = row.word<SelectionPattern>();
  p.selection.overlap = row.optional_real();
  p.model.model_dim = row.integer();
  p.model.layers = row.integer();
  p.model.vocab_size = row.integer();
  require_valid(p, where);
  return p;
}

VariantId get_variant(SQLite::Database& db, const std::string& id, const std::string& path) {
  const std::string where = path + ": variant " + id;
  SQLite::Statement query(db, "SELECT stages, name, point FROM variant WHERE id = ?");
  bind_values(query, id);
  if (!query.executeStep()) refuse(where, "is missing");
  Row row(query, where);
  VariantId variant;
  variant.stages = split_stages(row.text());
  variant.name = row.text();
  const Json point = parse_cell(row.text(), where);
  if (!point.is_object()) refuse(where, "has a point that is not an object");
  for (const auto& [name, value] : point.items()) {
    variant.point.emplace_back(name, integer_of(value, where));
  }
  return with_current_coordinates(std::move(variant));
}

Placement get_placement(SQLite::Database& db, const std::string& id, const std::string&) {
  SQLite::Statement query(db,
                          "SELECT host, device_uuid FROM placement WHERE id = ? ORDER BY position");
  bind_values(query, id);
  Placement placement;
  while (query.executeStep()) {
    placement.push_back({query.getColumn(0).getString(), query.getColumn(1).getString()});
  }
  return placement;
}

}  // namespace nsa::store
