#include "problem_row.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "columns.hpp"
#include "nsa/schemas/fields/problem.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa::store {
namespace {

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

/// The values of its columns, as problem_id() hashes them: another text or another order would give
/// every problem another id.
template <class T>
void add_texts(std::vector<std::string>& texts, const T& object) {
  each_field(object, [&]<class M>(const auto&, const M& value) {
    if constexpr (fields::Described<M>) {
      add_texts(texts, value);
    } else if constexpr (TextOfItsOwn<M>) {
      texts.push_back(lengths_text(value));
    } else if constexpr (std::is_enum_v<M>) {
      texts.emplace_back(to_string(value));
    } else if constexpr (std::same_as<M, std::optional<double>>) {
      texts.push_back(value ? fmt::format("{}", *value) : "");
    } else {
      texts.push_back(std::to_string(value));
    }
  });
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
  std::vector<std::string> texts;
  add_texts(texts, p);
  return hash_hex(fmt::format("{}", fmt::join(texts, "|")));
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
  static const std::string kInsert = [] {
    Columns columns = columns_of<Problem>();
    for (const char* name : {"id", "batch", "seq_len", "context_len"}) columns.add(name);
    return "INSERT INTO problem (" + columns.names + ") VALUES (" + columns.parameters +
           ") ON CONFLICT (id) DO NOTHING";
  }();
  const std::string id = problem_id(p);
  SQLite::Statement insert(db, kInsert);
  Binder binder(insert);
  bind_columns(binder, p, lengths_text);
  binder.add(id, p.batch(), p.max_seq_len(), p.max_context());
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
  SQLite::Statement query(db,
                          "SELECT " + columns_of<Problem>().names + " FROM problem WHERE id = ?");
  bind_values(query, id);
  if (!query.executeStep()) refuse(where, "is missing");
  Row row(query, where);
  Problem p;
  read_columns(row, p, [&](Row& from, std::vector<std::int64_t>& lengths) {
    lengths = parse_lengths(from.text(), where);
  });
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
