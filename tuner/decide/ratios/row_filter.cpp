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
  for (const Observation* row : rows) {
    if (row->verification == Verification::wrong_result) wrong_.insert(*row->variant);
  }
}

const VariantTraits* RowFilter::traits(const VariantId& id) const {
  const auto found = std::find_if(input_.variants.begin(), input_.variants.end(),
                                  [&](const VariantTraits& t) { return t.id == id; });
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
  const VariantTraits* known = traits(*row.variant);
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

std::vector<std::string> left_out(const DecideInput& input) {
  std::map<std::pair<std::string, std::string>, std::size_t> counts;
  for (const Observation& row : input.rows.rows()) {
    const std::string reason = reason_of(row, input.options);
    if (!reason.empty()) ++counts[{reason, to_string(*row.variant)}];
  }
  std::vector<std::string> lines;
  for (const auto& [key, rows] : counts) {
    lines.push_back(key.first + ": " + key.second + " (" + std::to_string(rows) +
                    (rows == 1 ? " row)" : " rows)"));
  }
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
