#include "row_filter.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace nsa::tuner {
namespace {

bool allowed(const Observation& row, bool unverified) {
  if (row.verification == Verification::verified) return true;
  return unverified && row.verification == Verification::unverified;
}

std::string reason_of(const Observation& row, const DecideOptions& options) {
  if (*row.executor != options.executor) return "other executor " + *row.executor;
  if (row.outcome != Outcome::ok) return std::string(to_string(row.outcome));
  if (allowed(row, options.unverified)) return "";
  return std::string(to_string(row.verification));
}

}  // namespace

RowFilter::RowFilter(const DecideInput& input, const Rows& rows) : input_(input) {
  if (!rows.empty()) direction_ = rows.front()->problem->direction;
  for (const Observation* row : rows) {
    if (row->verification == Verification::wrong_result || row->not_believed)
      wrong_.insert(*row->variant);
    if (const auto [entry, added] = known_.try_emplace(row->variant); added)
      entry->second = traits(*row->variant);
  }
}

const VariantTraits* RowFilter::traits(const VariantId& id) const {
  const auto found =
      std::find_if(input_.variants.begin(), input_.variants.end(),
                   [&](const VariantTraits& t) { return t.id == id && t.direction == direction_; });
  return found == input_.variants.end() ? nullptr : &*found;
}

bool RowFilter::eligible(const VariantId& id) const {
  const VariantTraits* known = traits(id);
  return (!known || (known->eligible && !known->baseline)) && !wrong_.contains(id);
}

RowFilter::TieOrder RowFilter::tie_order(const VariantId& id, Axis axis) const {
  const VariantTraits* known = traits(id);
  const auto place =
      known ? static_cast<std::size_t>(known - input_.variants.data()) : input_.variants.size();
  return {exponent(id, axis).value_or(std::numeric_limits<double>::infinity()), place};
}

std::optional<double> RowFilter::exponent(const VariantId& id, Axis axis) const {
  const VariantTraits* known = traits(id);
  if (!known || !known->order) return std::nullopt;
  return axis == Axis::context_len ? known->order->context_len : known->order->seq_len;
}

bool RowFilter::counts(const Observation& row) const {
  if (row.outcome != Outcome::ok || std::isnan(row.log_ns)) return false;
  const auto found = known_.find(row.variant);
  const VariantTraits* known = found != known_.end() ? found->second : traits(*row.variant);
  // The baseline is never chosen, so an unverified one does no harm.
  if (known && known->baseline) return row.verification != Verification::wrong_result;
  return allowed(row, input_.options.unverified);
}

bool RowFilter::usable(const VariantId& id, const Rows& rows_of_problem) const {
  bool any = false;
  for (const Observation* row : rows_of_problem) {
    if (*row->variant != id || row->control) continue;
    if (row->outcome != Outcome::ok && row->outcome != Outcome::noisy) return false;
    any = any || counts(*row);
  }
  return any;
}

namespace {

using RowsOf = std::pair<std::string, std::size_t>;  // a variant, and how many of its rows

std::string with_rows(const RowsOf& of) {
  return of.first + " (" + std::to_string(of.second) + (of.second == 1 ? " row)" : " rows)");
}

/// A line for each variant; where there are many, one line that names those with most rows.
void describe_left_out(const std::string& reason, std::vector<RowsOf> variants,
                       std::vector<std::string>& lines) {
  constexpr std::size_t kMany = 6, kNamed = 3;
  if (variants.size() < kMany) {
    for (const RowsOf& of : variants) lines.push_back(reason + ": " + with_rows(of));
    return;
  }
  std::stable_sort(variants.begin(), variants.end(),
                   [](const RowsOf& a, const RowsOf& b) { return a.second > b.second; });
  std::size_t rows = 0;
  for (const RowsOf& of : variants) rows += of.second;
  std::string line = reason + ": " + std::to_string(rows) + " rows of " +
                     std::to_string(variants.size()) + " variants, most of ";
  for (std::size_t i = 0; i < kNamed; ++i) line += (i ? ", " : "") + with_rows(variants[i]);
  lines.push_back(line);
}

}  // namespace

std::vector<std::string> left_out(const DecideInput& input) {
  std::map<std::string, std::map<std::string, std::size_t>> counts;
  for (const Observation& row : input.rows.rows()) {
    const std::string reason = reason_of(row, input.options);
    if (!reason.empty()) ++counts[reason][to_string(*row.variant)];
  }
  std::vector<std::string> lines;
  for (const auto& [reason, variants] : counts)
    describe_left_out(reason, {variants.begin(), variants.end()}, lines);
  return lines;
}

std::string problem_key(const Problem& p) {
  std::string key;
  const auto add = [&](std::int64_t value) { key += std::to_string(value) + ','; };
  for (const std::int64_t n : p.seq_lens) add(n);
  key += ';';
  for (const std::int64_t n : p.context_lens) add(n);
  key += ';' + std::string(to_string(p.selection.pattern)) + ';';
  if (p.selection.overlap) key += std::to_string(*p.selection.overlap);
  key += ';';
  add(p.model.model_dim);
  add(p.model.layers);
  add(p.model.vocab_size);
  return key;
}

std::string join_stages(const std::vector<std::string>& stages) {
  std::string text;
  for (const std::string& stage : stages) text += (text.empty() ? "" : "+") + stage;
  return text;
}

std::size_t stage_order(const std::vector<std::string>& stages) {
  if (stages.empty()) return kStageCount;
  const std::optional<Stage> stage = from_string<Stage>(stages.front());
  return stage ? static_cast<std::size_t>(*stage) : kStageCount;
}

}  // namespace nsa::tuner
