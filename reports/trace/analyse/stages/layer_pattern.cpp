#include "layer_pattern.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>

namespace nsa::trace {
namespace {

using enum OperatorKind;
using Kinds = std::initializer_list<OperatorKind>;

constexpr std::size_t kNowhere = SIZE_MAX;
constexpr std::size_t kProjections = 7;  // of Q, and of K and V of three branches

bool is_in(OperatorKind kind, Kinds kinds) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

/// Numbers of operators; kNowhere is greater than all of them.
class Operators {
 public:
  explicit Operators(std::span<const OperatorKind> kinds) : kinds_(kinds) {}

  std::size_t size() const { return kinds_.size(); }
  OperatorKind operator[](std::size_t i) const { return kinds_[i]; }
  /// The first of [from, end) that is one of them.
  std::size_t first(std::size_t from, std::size_t end, Kinds kinds) const {
    for (std::size_t i = from; i < std::min(end, size()); ++i)
      if (is_in(kinds_[i], kinds)) return i;
    return kNowhere;
  }
  std::size_t last(std::size_t from, std::size_t end, Kinds kinds) const {
    for (std::size_t i = std::min(end, size()); i-- > from;)
      if (is_in(kinds_[i], kinds)) return i;
    return kNowhere;
  }
  std::size_t count(std::size_t from, std::size_t end, Kinds kinds) const {
    std::size_t n = 0;
    for (std::size_t i = from; i < std::min(end, size()); ++i) n += is_in(kinds_[i], kinds);
    return n;
  }
  /// The end of those of `kinds` that follow each other from there.
  std::size_t end_of_run(std::size_t from, Kinds kinds) const {
    while (from < size() && is_in(kinds_[from], kinds)) ++from;
    return from;
  }
  std::size_t begin_of_run(std::size_t end, Kinds kinds) const {
    while (end > 0 && is_in(kinds_[end - 1], kinds)) --end;
    return end;
  }

 private:
  std::span<const OperatorKind> kinds_;
};

constexpr Kinds kBorders{linear, attention, topk};

/// The selection of one layer.
struct Selection {
  std::size_t projection, first_pool, last_pool, softmax, mapped, topk, attention;
};

/// Exactly two poolings, a product, a softmax and the mapping stand between projection and topk.
std::optional<Selection> selection_of(const Operators& ops, std::size_t topk_at) {
  Selection out{};
  out.topk = topk_at;
  out.projection = ops.last(0, topk_at, kBorders);
  out.attention = ops.first(topk_at + 1, ops.size(), kBorders);
  if (out.projection == kNowhere || out.attention == kNowhere || ops[out.projection] != linear ||
      ops[out.attention] != attention)
    return {};
  constexpr std::array kMarks{pool, pool, product, softmax, scatter_add};
  std::array<std::size_t, kMarks.size()> found{};
  std::size_t n = 0;
  for (std::size_t i = out.projection; i < topk_at; ++i) {
    if (!is_in(ops[i], {pool, product, softmax, scatter_add})) continue;
    if (n == kMarks.size() || ops[i] != kMarks[n]) return {};
    found[n++] = i;
  }
  if (n != kMarks.size()) return {};
  out.first_pool = found[0];
  out.last_pool = found[1];
  out.softmax = found[3];
  out.mapped = found[4];
  return out;
}

class Layer {
 public:
  Layer(const Operators& ops, const Selection& selection, std::vector<Stretch>& out)
      : ops_(ops), s_(selection), out_(out) {}

  void find() {
    projections();
    scores();
    ranges();
    gate(attentions());
  }

 private:
  void add(LayerStage stage, std::size_t first, std::size_t end) {
    if (first < end) out_.push_back({stage, first, end});
  }

  /// Seven projections with rotations after the first; where caches grow (cat), they end.
  void projections() {
    std::size_t first = s_.projection;
    for (std::size_t n = 1; n < kProjections && first != kNowhere; ++n)
      first = ops_.last(0, first, {linear});
    if (first == kNowhere) return;
    if (ops_.count(first, s_.projection, {norm, activation, softmax, attention, topk, pool}) > 0)
      return;
    const std::size_t end =
        std::min(ops_.first(s_.projection, s_.first_pool, {cat}), s_.first_pool);
    if (ops_.count(first, end, {rotation}) > 1) add(LayerStage::project_rope, first, end);
  }

  /// Where keys are rotated between the caches and their pooling, that is a part of it.
  std::size_t begin_of_compress() const {
    const std::size_t cache = ops_.last(s_.projection, s_.first_pool, {cat});
    const bool rotates = cache != kNowhere && ops_.count(cache, s_.first_pool, {rotation}) > 1;
    return rotates ? cache + 1 : s_.first_pool;
  }

  void scores() {
    add(LayerStage::compress, begin_of_compress(), s_.last_pool + 1);
    add(LayerStage::pcmp, s_.last_pool + 1, s_.softmax + 1);
    const std::size_t next = ops_.end_of_run(s_.mapped + 1, {view});
    const std::size_t summed = ops_[next] == sum ? next + 1 : s_.mapped + 1;  // over heads
    add(LayerStage::pslc, s_.softmax + 1, summed);
    add(LayerStage::topk, summed, end_of_topk());
  }

  /// The picks, in order: what comes next needs them so.
  std::size_t end_of_topk() const {
    const std::size_t after = ops_.first(s_.topk + 1, s_.attention, {sort, cumsum, index_put});
    return after != kNowhere && ops_[after] == sort ? after + 1 : s_.topk + 1;
  }

  /// Runs of blocks by cumsum, written by index_put, before the selected attention makes its mask.
  void ranges() {
    const std::size_t first = end_of_topk();
    const std::size_t mask = ops_.first(first, s_.attention, {scatter_add_in_place});
    const std::size_t written = ops_.last(first, std::min(mask, s_.attention), {index_put});
    if (written != kNowhere && ops_.count(first, written, {cumsum}) > 0)
      add(LayerStage::ranges, first, written + 1);
  }

  /// The first operator of a mask made of differences: starts and ends of ranges added up.
  std::size_t selected_mask(std::size_t from, std::size_t attention_at) const {
    const std::size_t starts = ops_.first(from, attention_at, {scatter_add_in_place});
    if (starts == kNowhere) return kNowhere;
    const std::size_t ends = ops_.first(starts + 1, attention_at, {scatter_add_in_place});
    const std::size_t depth = ends == kNowhere ? ends : ops_.first(ends, attention_at, {cumsum});
    if (depth == kNowhere || ops_.first(depth, attention_at, {compare}) == kNowhere)
      return kNowhere;
    return std::max(ops_.begin_of_run(starts, {view, fill}), from);
  }

  /// The first operator of a mask made of positions: after a first key, and not after the query.
  std::size_t window_mask(std::size_t from, std::size_t attention_at) const {
    const std::size_t first = ops_.first(from, attention_at, {arange});
    if (first == kNowhere || ops_.count(first, attention_at, {compare}) < 2 ||
        ops_.first(first, attention_at, {where}) == kNowhere)
      return kNowhere;
    return first;
  }

  /// Up to the gate; returns the last attention.
  std::size_t attentions() {
    bool selected = false, window = false;
    std::size_t at = s_.attention, from = end_of_topk();
    while (true) {
      const std::size_t end = ops_.end_of_run(at + 1, {view, fill, where, check});
      if (!selected) {
        const std::size_t first = selected_mask(from, at);
        selected = first != kNowhere;
        if (selected) add(LayerStage::attend_selected, first, end);
      } else if (!window) {
        const std::size_t first = window_mask(from, at);
        window = first != kNowhere;
        if (window) add(LayerStage::attend_window, first, end);
      }
      const std::size_t next = ops_.first(at + 1, ops_.size(), kBorders);
      if (next == kNowhere || ops_[next] != attention) return at;
      from = end;
      at = next;
    }
  }

  /// Means of queries through two projections to a softmax, three products added up, and a
  /// projection.
  void gate(std::size_t after) {
    std::array<std::size_t, 3> linears{};
    std::size_t at = after;
    for (std::size_t& l : linears) {
      at = ops_.first(at + 1, ops_.size(), {linear, attention, norm});
      if (at == kNowhere || ops_[at] != linear) return;
      l = at;
    }
    const std::size_t means = ops_.first(after, linears[0], {mean});
    const std::size_t shares = ops_.first(linears[1], linears[2], {softmax});
    if (means == kNowhere || shares == kNowhere || ops_.count(shares, linears[2], {mul}) < 3 ||
        ops_.count(shares, linears[2], {OperatorKind::add}) < 2)
      return;
    add(LayerStage::gate_combine, means, linears[2]);
    add(LayerStage::out_proj, linears[2], linears[2] + 1);
  }

  const Operators& ops_;
  const Selection& s_;
  std::vector<Stretch>& out_;
};

}  // namespace

std::string_view to_text(LayerStage stage) {
  constexpr std::array<std::string_view, 11> kTexts{
      "",       "project_rope",    "compress",      "pcmp",         "pslc",    "topk",
      "ranges", "attend_selected", "attend_window", "gate_combine", "out_proj"};
  return kTexts.at(static_cast<std::size_t>(stage));
}

std::vector<Stretch> nsa_stretches(std::span<const OperatorKind> operators) {
  const Operators ops(operators);
  std::vector<Stretch> out;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i] != topk) continue;
    if (const auto selection = selection_of(ops, i)) Layer(ops, *selection, out).find();
  }
  return out;
}

}  // namespace nsa::trace
