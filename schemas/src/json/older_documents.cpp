#include "older_documents.hpp"

#include <algorithm>
#include <array>

#include "nsa/schemas/thresholds.hpp"

namespace nsa {
namespace {

constexpr int kFirstWithWords = 3;
constexpr std::array kLengths{"sel_ranges_v2_min_s", "fa2_min_len_win", "fa2_min_len_cmp",
                              "sel_varlen_min_l", "sel_triton_min_l"};
constexpr std::array kSelected{"force_sel_mask", "use_sel_pack", "use_sel_varlen"};
constexpr std::array kOthers{"p_cmp_mixed", "gate_compile", "prefill_batched"};

bool is_off(const Json& flat, const char* name) {
  const auto at = flat.find(name);
  return at != flat.end() && at->is_boolean() && !*at;
}

void upgrade_length(Json& flat, const char* name) {
  const auto at = flat.find(name);
  if (at == flat.end()) return;
  if (at->is_null()) *at = to_string(FlatValue::never());
  if (at->is_number_integer() && *at == 0) *at = to_string(FlatValue::always());
}

void upgrade_switch(Json& flat, const char* name, FlatValue off) {
  const auto at = flat.find(name);
  if (at == flat.end() || !at->is_boolean()) return;
  *at = to_string(*at ? FlatValue::always() : off);
}

void upgrade(Json& flat) {
  // All three off meant that another kernel was chosen. Set, it would be the users' slow path.
  const bool said_nothing = std::all_of(kSelected.begin(), kSelected.end(),
                                        [&](auto name) { return is_off(flat, name); });
  for (const char* name : kLengths) upgrade_length(flat, name);
  for (const char* name : kSelected)
    upgrade_switch(flat, name, said_nothing ? FlatValue() : FlatValue::never());
  for (const char* name : kOthers) upgrade_switch(flat, name, FlatValue::never());
}

/// The list under `key`; nothing to walk where there is none.
Json* list_in(Json& document, const char* key) {
  if (!document.is_object()) return nullptr;
  const auto at = document.find(key);
  return at != document.end() && at->is_array() ? &*at : nullptr;
}

/// A document that has both names keeps both, so that the schema refuses the older one.
void rename_key(Json& object, const char* older, const char* name) {
  if (!object.contains(older) || object.contains(name)) return;
  Json renamed = Json::object();
  for (const auto& [key, value] : object.items()) renamed[key == older ? name : key] = value;
  object = std::move(renamed);
}

}  // namespace

static void upgrade_flat_views(Json& document) {
  if (!document.is_object()) return;
  const auto version = document.find("schema_version"), classes = document.find("classes");
  const bool older =
      version != document.end() && version->is_number_integer() && *version < kFirstWithWords;
  if (!older || classes == document.end() || !classes->is_array()) return;
  for (Json& of_class : *classes) {
    const bool has_view = of_class.is_object() && of_class.contains("flat");
    if (has_view && of_class["flat"].is_object()) upgrade(of_class["flat"]);
  }
}

void upgrade_thresholds(Json& document) {
  upgrade_flat_views(document);
  Json* const classes = list_in(document, "classes");
  if (!classes) return;
  for (Json& of_class : *classes) {
    if (!of_class.is_object() || !of_class.contains("dense_break_even")) continue;
    Json& dense = of_class["dense_break_even"];
    if (dense.is_object()) rename_key(dense, "yardstick", "baseline");
  }
}

void upgrade_sweep(Json& document) {
  Json* const families = list_in(document, "families");
  if (!families) return;
  for (Json& family : *families) {
    Json* const roles = list_in(family, "roles");
    if (!roles) continue;
    for (Json& role : *roles) {
      if (role == "opt_in") role = "reduced_precision";
      if (role == "yardstick") role = "baseline";
    }
  }
}

}  // namespace nsa
