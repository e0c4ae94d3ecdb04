#include "worker/verify.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "nsa/kernels/parallel.hpp"
#include "nsa/tuner/safetensors.hpp"
#include "process/child.hpp"
#include "worker/row_distance.hpp"
#include "worker/tie_probe.hpp"

namespace nsa::tuner {
namespace {

using Rows = std::vector<std::int64_t>;

constexpr double kDoubtFactor = 10;  // times the budget: for rows in doubt
constexpr double kLoneFactor = 4;    // and for a candidate without peers
constexpr std::size_t kLeastRowsAtOnce = 16;

/// The rows of a tensor as a tensor of their own; rows that it does not have are left out.
HostTensor rows_of(const HostTensor& whole, const Rows& rows) {
  HostTensor part{whole.name, whole.shape, {}};
  std::size_t row_bytes = size_of(whole.shape.dtype);
  for (int i = 1; i < whole.shape.rank; ++i)
    row_bytes *= static_cast<std::size_t>(whole.shape.shape[static_cast<std::size_t>(i)]);
  part.shape.shape[0] = 0;
  for (const std::int64_t row : rows) {
    if (row < 0 || row >= whole.shape.shape[0]) continue;
    const auto begin = whole.bytes.begin() + row * static_cast<std::int64_t>(row_bytes);
    part.bytes.insert(part.bytes.end(), begin, begin + static_cast<std::int64_t>(row_bytes));
    ++part.shape.shape[0];
  }
  return part;
}

void write_rows(const Outputs& outputs, const worker::VerifyRequest& request) {
  Outputs parts;
  std::vector<NamedView> tensors;
  for (const HostTensor& output : outputs)
    parts.push_back(request.rows ? rows_of(output, *request.rows) : output);
  for (const HostTensor& part : parts) tensors.push_back({part.name, part.view()});
  write_safetensors(request.outputs, tensors);
}

/// Whether two rows may share the part that is wrong: the same code, or two plans, which leave
/// their other stages to the same rows.
bool share_code(const Variant& a, const Variant& b) {
  const auto runs_others = [](const Variant& row) {
    return is_composite(row) && row.plan.mode != Plan::Mode::one_kernel;
  };
  return a.source_hash == b.source_hash || (runs_others(a) && runs_others(b));
}

/// Handles that should have the same answer: from other code, or from the same code (a composite by
/// another plan, a product by another algorithm of the library) where there is no other.
struct Peers {
  std::vector<Handle*> handles;
  bool same_code = false;
};
Peers peers_of(const Handle& handle, std::span<Handle* const> handles) {
  std::vector<Handle*> other_code, same_code;
  const Variant& own = handle.variant();
  for (Handle* peer : handles) {
    const Variant& variant = peer->variant();
    const bool same_question = peer->inputs() == handle.inputs() &&
                               std::ranges::equal(variant.stages, own.stages) &&
                               (variant.role == Role::baseline) == (own.role == Role::baseline);
    const bool same_row = variant.name == own.name && peer->point() == handle.point();
    if (!same_question || same_row) continue;
    (share_code(variant, own) ? same_code : other_code).push_back(peer);
  }
  if (other_code.empty()) return {same_code, true};
  return {other_code, false};
}

/// Rows in which no peer agrees.
Rows apart_from_all(const Outputs& now, const std::vector<Handle*>& peers, double tolerance) {
  std::optional<Rows> apart;
  for (Handle* peer : peers) {
    apart = rows_apart(now, peer->outputs_on_host(), tolerance, apart);
    if (apart->empty()) break;
  }
  return apart.value_or(Rows{});
}

/// Rows in which a peer disagrees, each once.
Rows apart_from_any(const Outputs& now, const std::vector<Handle*>& peers, double tolerance) {
  Rows apart;
  std::set<std::int64_t> seen;
  for (Handle* peer : peers) {
    for (const std::int64_t row : rows_apart(now, peer->outputs_on_host(), tolerance)) {
      if (seen.insert(row).second) apart.push_back(row);
    }
  }
  return apart;
}

/// Peers of the same code may share the part that is wrong (two plans with the same row for the
/// selected branch), so one of them that disagrees is enough for doubt.
Rows rows_in_doubt(const Outputs& now, const Peers& peers, double tolerance) {
  return peers.same_code ? apart_from_any(now, peers.handles, tolerance)
                         : apart_from_all(now, peers.handles, tolerance);
}

std::vector<TensorView> views_of(const Outputs& tensors) {
  std::vector<TensorView> views;
  for (const HostTensor& tensor : tensors) views.push_back(tensor.view());
  return views;
}

/// Compares rows of outputs with the oracle, at least the first few.
class RowJudge {
 public:
  explicit RowJudge(const Handle& handle)
      : shared_(handle.inputs()->judge(handle.variant().stages, handle.problem(),
                                       handle.variant().role)) {}
  double worst() const noexcept { return worst_; }
  /// These rows, until the time is spent.
  void judge(const Outputs& outputs, std::span<const std::int64_t> rows, double budget_s) {
    const TimePoint start = Clock::now();
    const std::vector<TensorView> views = views_of(outputs);
    for (std::size_t i = 0; i < rows.size(); i += rows_at_once()) {
      if (i > 0 && seconds_since(start) > budget_s) break;
      verify(views, some(rows, i));
    }
  }
  /// Rows all over the tensor: those that a variant before was compared in, and more until the time
  /// is spent that finding the right answers may take for all variants together.
  void judge_spread(const Outputs& outputs, double budget_s) {
    const std::vector<TensorView> views = views_of(outputs);
    const std::span<const std::int64_t> order(shared_.order);
    for (std::size_t i = 0; i < order.size();) {
      const bool known = i < shared_.known;
      if (i > 0 && !known && shared_.spent_s > budget_s) break;
      const auto rows = some(order, i);
      const TimePoint start = Clock::now();
      verify(views, rows);
      i += rows.size();
      if (known) continue;
      shared_.known = i;
      shared_.spent_s += seconds_since(start);
    }
  }

 private:
  static std::size_t rows_at_once() {
    return std::max(kLeastRowsAtOnce, static_cast<std::size_t>(parallel_threads()));
  }
  static std::span<const std::int64_t> some(std::span<const std::int64_t> rows, std::size_t from) {
    return rows.subspan(from, std::min(rows_at_once(), rows.size() - from));
  }
  void verify(const std::vector<TensorView>& views, std::span<const std::int64_t> rows) {
    worst_ = std::max(worst_, shared_.oracle->verify(views, rows).worst_row_error);
  }

  Inputs::Judge& shared_;
  double worst_ = 0;
};

/// Every row of every gradient, of both launches: the right answers are there as a whole.
std::optional<double> worst_gradient_error(Handle& handle, const Outputs& before,
                                           const Outputs& now) {
  const auto stages = handle.variant().stages;
  if (!SpanOracle::covers(stages, handle.problem())) return std::nullopt;
  const SpanOracle& oracle =
      *handle.inputs()->judge(stages, handle.problem(), handle.variant().role).oracle;
  return std::max(oracle.verify(views_of(now)).worst_row_error,
                  oracle.verify(views_of(before)).worst_row_error);
}

/// Nothing for stages that no oracle covers.
std::optional<double> worst_row_error(Handle& handle, const Outputs& before, const Outputs& now,
                                      const Device& device, std::span<Handle* const> handles,
                                      double budget_s) {
  const auto stages = handle.variant().stages;
  if (handle.problem().direction == Direction::backward)
    return worst_gradient_error(handle, before, now);
  const double tolerance = row_tolerance(handle.variant(), handle.problem().dtype);
  const bool on_device =
      device.backend == Backend::cuda && stages.size() == 1 && device_oracle_covers(stages.front());
  if (!on_device && !SpanOracle::covers(stages, handle.problem())) return std::nullopt;
  const Rows unsteady = rows_apart(now, before, tolerance);
  double worst = wrong_ties(handle, device);
  if (on_device) {
    DeviceOracle& oracle = handle.inputs()->device_judge(stages.front(), handle.problem());
    const auto verdict = oracle.verify(handle.outputs().views(), handle.stream());
    worst = std::max(worst, verdict.worst_row_error);
    if (unsteady.empty()) return worst;
  }
  RowJudge judge(handle);
  judge.judge(before, unsteady, kDoubtFactor * budget_s);
  if (!on_device) {
    const Peers peers = peers_of(handle, handles);
    const bool lone = peers.handles.empty() && handle.variant().role != Role::baseline;
    judge.judge(now, unsteady, kDoubtFactor * budget_s);
    judge.judge(now, rows_in_doubt(now, peers, tolerance), kDoubtFactor * budget_s);
    judge.judge_spread(now, (lone ? kLoneFactor : 1) * budget_s);
  }
  return std::max(worst, judge.worst());
}

}  // namespace

worker::VerifiedReply verify(Handle& handle, const worker::VerifyRequest& request,
                             const Device& device, std::span<Handle* const> peers, double budget_s,
                             Outputs& before) {
  handle.fetch_outputs(before);
  const std::byte old_poison = handle.poison();
  handle.run_on_poison();
  const Outputs& now = handle.outputs_on_host();
  write_rows(now, request);
  return {request.id, count_untouched(before, old_poison, now, handle.poison()),
          count_non_finite(now), worst_row_error(handle, before, now, device, peers, budget_s)};
}

}  // namespace nsa::tuner
