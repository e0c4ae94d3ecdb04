#include "inferred.hpp"

#include <unordered_map>
#include <utility>

#include "analyse/launches.hpp"
#include "analyse/owners/autograd.hpp"

namespace nsa::trace {
namespace {

/// [names] Kinds of operators; empty where no thread can hold a layer.
std::vector<OperatorKind> kinds_of_names(const Trace& trace) {
  std::vector<OperatorKind> out(trace.names.size(), OperatorKind::none);
  std::vector<char> known(trace.names.size(), 0);
  bool pools = false, picks = false, attends = false;
  for (const HostRange& range : trace.ranges) {
    if (known[range.name] || range.kind != RangeKind::cpu_op) continue;
    known[range.name] = 1;
    const OperatorKind kind = kind_of_operator(trace.names.text(range.name));
    out[range.name] = kind;
    pools |= kind == OperatorKind::pool;
    picks |= kind == OperatorKind::topk;
    attends |= kind == OperatorKind::attention;
  }
  return pools && picks && attends ? out : std::vector<OperatorKind>{};
}

/// Operators of one thread that are in no other operator.
struct Sequence {
  std::vector<OperatorKind> kinds;
  std::vector<std::uint32_t> ranges;
};

class Inference {
 public:
  Inference(const Trace& trace, const HostTree& tree, const std::vector<RangeSays>& says,
            const std::vector<OperatorKind>& kinds)
      : trace_(trace), tree_(tree), says_(says), kinds_(kinds), stages_(trace.ranges.size()) {}

  std::vector<LayerStage> run() {
    look_around();
    if (!match()) return {};
    follow_autograd();
    return std::move(stages_);
  }

 private:
  RangeSays says(std::uint32_t range) const { return says_[trace_.ranges[range].name]; }
  OperatorKind kind(std::uint32_t range) const {
    const HostRange& r = trace_.ranges[range];
    return r.kind == RangeKind::cpu_op ? kinds_[r.name] : OperatorKind::none;
  }

  /// Which ranges are in operators or named stages; a stage that was never closed lasts until the
  /// next range that says what it is.
  void look_around() {
    in_operator_.resize(trace_.ranges.size(), 0);
    in_stage_.resize(trace_.ranges.size(), 0);
    sequences_.resize(trace_.threads.size());
    std::vector<char> open_stage(trace_.threads.size(), 0);
    for (std::uint32_t r = 0; r < trace_.ranges.size(); ++r) {
      const HostRange& range = trace_.ranges[r];
      const bool stage = says(r) == RangeSays::stage;
      if (says(r) != RangeSays::nothing) open_stage[range.thread] = stage && range.open;
      in_stage_[r] = stage || open_stage[range.thread] != 0;
      if (const std::uint32_t parent = tree_.parent[r]; parent != kNone) {
        in_operator_[r] = in_operator_[parent] || kind(parent) != OperatorKind::none;
        in_stage_[r] = in_stage_[r] || in_stage_[parent];
      }
      if (kind(r) == OperatorKind::none || in_operator_[r]) continue;
      sequences_[range.thread].kinds.push_back(kinds_[range.name]);
      sequences_[range.thread].ranges.push_back(r);
    }
  }

  bool match() {
    bool any = false;
    for (const Sequence& sequence : sequences_) {
      for (const Stretch& stretch : nsa_stretches(sequence.kinds)) {
        any = true;
        for (std::size_t i = stretch.first; i < stretch.end; ++i)
          if (!in_stage_[sequence.ranges[i]]) stages_[sequence.ranges[i]] = stretch.stage;
      }
    }
    return any;
  }

  /// A node of autograd gets its number when the operator that makes it runs: that is the last one
  /// with this number. Each thread counts for itself; what two of them have is nobody's.
  struct Maker {
    std::uint32_t thread;
    LayerStage stage;
    bool of_two_threads;
  };
  using Makers = std::unordered_map<std::uint64_t, Maker>;

  static std::uint64_t key(const HostRange& range) {
    return std::uint64_t{range.process} << 32 | static_cast<std::uint32_t>(range.sequence);
  }

  /// Not the nodes, which have the numbers of their operators.
  bool makes_node(std::uint32_t r) const {
    const HostRange& range = trace_.ranges[r];
    if (range.sequence < 0 || range.forward_thread != 0 || range.open) return false;
    return kind(r) != OperatorKind::none || !in_backward(r);
  }

  bool in_backward(std::uint32_t r) const {
    bool found = false;
    for_each_around(tree_, r,
                    [&](std::uint32_t range) { found |= says(range) == RangeSays::backward; });
    return found;
  }

  Makers makers() const {
    Makers out;
    std::vector<LayerStage> around(trace_.ranges.size(), LayerStage::none);
    // Neighbours have the same number: most of them need no look into the map.
    std::vector<std::pair<std::uint64_t, Maker*>> last(trace_.threads.size(), {0, nullptr});
    for (std::uint32_t r = 0; r < trace_.ranges.size(); ++r) {
      around[r] = stages_[r];
      if (const std::uint32_t parent = tree_.parent[r];
          around[r] == LayerStage::none && parent != kNone)
        around[r] = around[parent];
      if (!makes_node(r)) continue;
      const HostRange& range = trace_.ranges[r];
      auto& [number, maker] = last[range.thread];
      if (maker == nullptr || number != key(range)) {
        number = key(range);
        maker = &out.try_emplace(number, Maker{range.thread, around[r], false}).first->second;
        maker->of_two_threads |= maker->thread != range.thread;
      }
      maker->stage = around[r];
    }
    return out;
  }

  void follow_autograd() {
    const Makers known = makers();
    for (std::uint32_t r = 0; r < trace_.ranges.size(); ++r) {
      const HostRange& range = trace_.ranges[r];
      if (says(r) != RangeSays::backward || range.sequence < 0 || in_stage_[r]) continue;
      const auto at = known.find(key(range));
      if (at != known.end() && !at->second.of_two_threads) stages_[r] = at->second.stage;
    }
    follow_arrows();
  }

  /// Where nodes have no numbers.
  void follow_arrows() {
    for (const AutogradLink& link : autograd_links(trace_)) {
      if (link.forward == kNone || link.backward == kNone) continue;
      if (trace_.ranges[link.backward].sequence >= 0 || in_stage_[link.backward]) continue;
      if (says(link.backward) != RangeSays::backward) continue;
      LayerStage stage = LayerStage::none;
      for_each_around(tree_, link.forward, [&](std::uint32_t r) {
        if (stage == LayerStage::none) stage = stages_[r];
      });
      stages_[link.backward] = stage;
    }
  }

  const Trace& trace_;
  const HostTree& tree_;
  const std::vector<RangeSays>& says_;  // [names]
  const std::vector<OperatorKind>& kinds_;
  std::vector<LayerStage> stages_;            // [ranges]
  std::vector<char> in_operator_, in_stage_;  // [ranges]
  std::vector<Sequence> sequences_;           // [threads]
};

}  // namespace

std::vector<LayerStage> inferred_stages(const Trace& trace, const HostTree& tree,
                                        const std::vector<RangeSays>& says) {
  const std::vector<OperatorKind> kinds = kinds_of_names(trace);
  if (kinds.empty()) return {};
  return Inference(trace, tree, says, kinds).run();
}

}  // namespace nsa::trace
