#include "group.hpp"

#include <algorithm>
#include <charconv>
#include <map>

#include "formats/own.hpp"
#include "nsa/schemas/median.hpp"
#include "nsa/schemas/variant_text.hpp"

namespace nsa::exchange {
namespace {

std::string key_of(const Measurement& row) {
  std::string key;
  for (const auto& [name, value] : parameters(row)) key += value + '\n';
  for (const Placed& placed : row.placement) key += placed.host + '\n' + placed.device_uuid + '\n';
  return key;
}

}  // namespace

std::vector<Group> group_rows(const std::vector<Measurement>& rows) {
  std::vector<Group> groups;
  std::map<std::string, std::size_t> places;
  for (const Measurement& row : rows) {
    const auto [at, added] = places.emplace(key_of(row), groups.size());
    if (added) groups.emplace_back();
    groups[at->second].rows.push_back(&row);
  }
  return groups;
}

std::vector<std::pair<std::string, std::string>> parameters(const Measurement& row) {
  std::vector<std::pair<std::string, std::string>> all{{"stages", stages_text(row.variant)},
                                                       {"variant", name_text(row.variant)}};
  for (auto& field : problem_fields(row.problem)) all.push_back(std::move(field));
  all.emplace_back("executor", row.executor);
  all.emplace_back("launch", to_string(row.launch));
  all.emplace_back("timer", to_string(row.timer));
  all.emplace_back("cold", row.cold ? "1" : "0");
  return all;
}

Tree parameter_value(const std::string& text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc{} && rest == end) return value;
  return text;
}

std::string stages_text(const VariantId& id) {
  std::string text;
  for (const std::string& stage : id.stages) text += (text.empty() ? "" : "+") + stage;
  return text;
}

std::string name_text(const VariantId& id) {
  return id.point.empty() ? id.name : id.name + '.' + point_text(id.point);
}

std::vector<std::int64_t> times_of(const Group& group) {
  std::vector<std::int64_t> times;
  for (const Measurement* row : group.rows) {
    for (const Sample& sample : row->samples) times.push_back(sample.device_ns);
  }
  return times;
}

Tree own_list(const Group& group) {
  Tree list = Tree::array();
  for (const Measurement* row : group.rows) list.push_back(own_fields(*row));
  return list;
}

bool counts(const Measurement& row) {
  return row.outcome == Outcome::ok && row.verification != Verification::wrong_result &&
         !row.control && row.median_ns.has_value();
}

std::optional<double> middle_ns(const Group& group) {
  std::vector<double> medians;
  for (const Measurement* row : group.rows) {
    if (counts(*row)) medians.push_back(*row->median_ns);
  }
  if (medians.empty()) return std::nullopt;
  return median(medians);
}

std::string failure_text(const Group& group) {
  const auto bad = std::find_if(group.rows.begin(), group.rows.end(),
                                [](const Measurement* m) { return m->outcome != Outcome::ok; });
  if (bad == group.rows.end()) return std::string(to_string(group.first().verification));
  const Measurement& row = **bad;
  return std::string(to_string(row.outcome)) + (row.reason.empty() ? "" : ": " + row.reason);
}

}  // namespace nsa::exchange
