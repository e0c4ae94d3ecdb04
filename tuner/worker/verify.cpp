#include "worker/verify.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "nsa/kernels/directions.hpp"
#include "nsa/kernels/parallel.hpp"
#include "nsa/tuner/safetensors.hpp"
#include "process/child.hpp"
#include "worker/memory.hpp"
#include "worker/row_distance.hpp"
#include "worker/tie_probe.hpp"

namespace nsa::tuner {
namespace {

using RowNumbers = std::vector<std::int64_t>;

constexpr double kDoubtFactor = 10;     // times the budget: for rows in doubt
constexpr double kLoneFactor = 4;       // and for a candidate without peers
constexpr double kDeviceOracleS = 0.5;  // of one contest: every row of most problems
constexpr std::size_t kLeastRowsAtOnce = 16;

void write_rows(TensorSet& outputs, const worker::VerifyRequest& request) {
  const std::vector<HostTensor> parts =
      request.rows ? outputs.rows(*request.rows) : outputs.on_host();
  std::vector<NamedView> tensors;
  for (const HostTensor& part : parts) tensors.push_back({part.name, part.view()});
  write_safetensors(request.outputs, tensors);
}

/// Whether two rows may share the part that is wrong: the same code, or two plans, which leave
/// their other stages to the same rows.
bool share_code(const Variant& a, const Variant& b) {
  const auto runs_others = [](const Variant& row) {
    return is_composite(row) && row.plan.mode != CompositePlan::Mode::one_kernel;
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

/// Rows in which no peer agrees, the farthest from the last one first; with `any` of the peers, in
/// which one does not.
RowNumbers apart_from(TensorSet& now, const Peers& peers, bool any, double tolerance) {
  std::vector<double> apart;
  for (Handle* peer : peers.handles) {
    std::vector<double> distances = now.distances(peer->outputs(), tolerance);
    if (!apart.empty()) {
      for (std::size_t row = 0; row < apart.size(); ++row)
        distances[row] =
            any ? std::max(distances[row], apart[row]) : (apart[row] > 0 ? distances[row] : 0);
    }
    apart = std::move(distances);
  }
  return rows_apart(apart);
}

/// Peers of the same code may share the part that is wrong (two plans with the same row for the
/// selected branch), so one of them that disagrees is enough for doubt.
RowNumbers rows_in_doubt(TensorSet& now, const Peers& peers, double tolerance) {
  return apart_from(now, peers, peers.same_code, tolerance);
}

std::vector<TensorView> views_of(const std::vector<HostTensor>& tensors) {
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
  void judge(TensorSet& outputs, std::span<const std::int64_t> rows, double budget_s) {
    double spent_s = 0;
    judge(outputs, rows, budget_s, spent_s);
  }
  /// Rows in which variants differ: the first ones, and more until the time is spent that all
  /// variants share. Most of them are ties, and the same ones in all variants.
  void judge_doubted(TensorSet& outputs, std::span<const std::int64_t> rows, double budget_s) {
    judge(outputs, rows, budget_s, shared_.doubt_s);
  }
  /// Rows all over the tensor: those that a variant before was compared in, and more until the time
  /// is spent that finding the right answers may take for all variants together.
  void judge_spread(TensorSet& outputs, double budget_s) {
    const std::span<const std::int64_t> order(shared_.order);
    for (std::size_t i = 0; i < order.size();) {
      const bool known = i < shared_.known;
      if (i > 0 && !known && shared_.spent_s > budget_s) break;
      const auto rows = some(order, i);
      const TimePoint start = Clock::now();
      verify(outputs, rows);
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
  void judge(TensorSet& outputs, std::span<const std::int64_t> rows, double budget_s,
             double& spent_s) {
    for (std::size_t i = 0; i < rows.size(); i += rows_at_once()) {
      if (i > 0 && spent_s > budget_s) break;
      const TimePoint start = Clock::now();
      verify(outputs, some(rows, i));
      spent_s += seconds_since(start);
    }
  }
  void verify(TensorSet& outputs, std::span<const std::int64_t> rows) {
    const std::vector<HostTensor> parts = outputs.rows(rows);
    for (const auto& verdict : shared_.oracle->verify_packed(views_of(parts), rows))
      worst_ = std::max(worst_, verdict.worst_row_error);
  }

  Inputs::Judge& shared_;
  double worst_ = 0;
};

/// What the device's oracle says; nothing where it does not know the stage, what is saved, or dense
/// attention.
std::optional<DeviceOracle::Coverage> judge_on_device(Handle& handle, const Device& device) {
  const auto stages = handle.variant().stages;
  if (device.backend != Backend::cuda || stages.size() != 1 ||
      handle.problem().direction == kForwardSaving ||
      !device_oracle_covers(stages.front(), handle.problem()))
    return std::nullopt;
  if (stages.front() == Stage::attention && handle.variant().role == Role::baseline)
    return std::nullopt;
  DeviceOracle& oracle = handle.inputs()->device_judge(stages.front(), handle.problem());
  return oracle.verify_some(handle.outputs().views(), kDeviceOracleS, handle.stream());
}

/// Every row of every gradient, of both launches: the right answers are there as a whole, or of
/// one KV head.
std::optional<double> worst_gradient_error(Handle& handle, TensorSet& before) {
  const auto stages = handle.variant().stages;
  if (!SpanOracle::covers(stages, handle.problem())) return std::nullopt;
  const SpanOracle& oracle =
      *handle.inputs()->judge(stages, handle.problem(), handle.variant().role).oracle;
  return std::max(oracle.verify(views_of(handle.outputs().on_host())).worst_row_error,
                  oracle.verify(views_of(before.on_host())).worst_row_error);
}

/// Nothing for stages that no oracle covers.
std::optional<double> worst_row_error(Handle& handle, TensorSet& before, const Device& device,
                                      std::span<Handle* const> handles, double budget_s) {
  const auto stages = handle.variant().stages;
  if (has_gradients(handle.problem().direction)) return worst_gradient_error(handle, before);
  const double tolerance = row_tolerance(handle.variant(), handle.problem().dtype);
  const auto on_device = judge_on_device(handle, device);
  if (!on_device && !SpanOracle::covers(stages, handle.problem())) return std::nullopt;
  TensorSet& now = handle.outputs();
  const RowNumbers unsteady = rows_apart(now.distances(before, tolerance));
  double worst = wrong_ties(handle, device);
  if (on_device) worst = std::max(worst, on_device->verdict.worst_row_error);
  RowNumbers doubted;
  const Peers peers = peers_of(handle, handles);
  const bool all_judged = on_device && on_device->complete;
  if (!all_judged) doubted = rows_in_doubt(now, peers, tolerance);
  if (on_device && unsteady.empty() && doubted.empty()) return worst;
  RowJudge judge(handle);
  judge.judge(before, unsteady, kDoubtFactor * budget_s);
  if (!all_judged) {
    judge.judge(now, unsteady, kDoubtFactor * budget_s);
    judge.judge_doubted(now, doubted, kDoubtFactor * budget_s);
  }
  const bool lone = peers.handles.empty() && handle.variant().role != Role::baseline;
  if (!on_device) judge.judge_spread(now, (lone ? kLoneFactor : 1) * budget_s);
  return std::max(worst, judge.worst());
}

}  // namespace

worker::VerifiedReply verify(Handle& handle, const worker::VerifyRequest& request,
                             const Device& device, std::span<Handle* const> peers,
                             double budget_s) {
  const auto before = handle.outputs().copy();
  const std::byte old_poison = handle.poison();
  handle.run_on_poison();
  write_rows(handle.outputs(), request);
  const OddElements odd = handle.outputs().odd_elements(handle.poison(), *before, old_poison);
  return {request.id, odd.untouched, odd.non_finite,
          worst_row_error(handle, *before, device, peers, budget_s)};
}

}  // namespace nsa::tuner
