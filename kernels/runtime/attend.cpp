#include <cstring>

#include "attention.hpp"
#include "stage.hpp"

namespace nsa {
namespace {

/// Output of a branch, or zeros where the branch is off.
TensorView take_branch(const Context& context, const AttendCall& call, bool on) {
  const Problem& p = call.problem;
  TensorView o =
      take_tensor(*context.workspace, p.dtype, {call.q.shape[0], p.q_heads, p.head_dim_v});
  if (!on) std::memset(o.data, 0, o.bytes());  // all-zero bits are 0.0 in every dtype
  return o;
}

void select_and_attend(const Context& context, const AttendCall& call, const TensorView& o_sel,
                       Saved* saved) {
  const Problem& p = call.problem;
  const std::int64_t tokens = call.q.shape[0];
  const std::int64_t n = p.geometry.sel_count;
  const TensorView blocks =
      call.blocks ? call.blocks
                  : take_tensor(*context.workspace, Dtype::int32, {tokens, p.kv_heads, n});
  run_stage(context, {Stage::score, p, call.sequences, {call.q, call.k_cmp}, {blocks}}, saved);
  TensorView ranges;
  if (needs_ranges(context, p)) {
    ranges = take_tensor(*context.workspace, Dtype::int32, {tokens, p.kv_heads, n, 2});
    run_stage(context, {Stage::ranges, p, call.sequences, {blocks}, {ranges}}, saved);
  }
  run_stage(context,
            {Stage::attend_selected,
             p,
             call.sequences,
             {call.q, call.k_sel, call.v_sel, blocks, ranges},
             {o_sel}},
            saved);
}

}  // namespace

void attend(const Context& context, const AttendCall& call, Saved* saved) {
  const Problem& p = call.problem;
  const WorkspaceScope scratch(*context.workspace);
  const bool cmp = branch_on(context.constants, 0), sel = branch_on(context.constants, 1),
             win = branch_on(context.constants, 2);
  const TensorView o_cmp = take_branch(context, call, cmp);
  const TensorView o_sel = take_branch(context, call, sel);
  const TensorView o_win = take_branch(context, call, win);
  if (cmp) {
    run_stage(
        context,
        {Stage::attend_compressed, p, call.sequences, {call.q, call.k_cmp, call.v_cmp}, {o_cmp}},
        saved);
  }
  if (sel) select_and_attend(context, call, o_sel, saved);
  if (win) {
    run_stage(context,
              {Stage::attend_window,
               call.window_problem,
               call.window_sequences,
               {call.q, call.k_win, call.v_win},
               {o_win}},
              saved);
  }
  run_stage(context,
            {Stage::gate_combine,
             p,
             call.sequences,
             {call.q, o_cmp, o_sel, o_win, call.fc1_w, call.fc1_b, call.fc2_w, call.fc2_b},
             {call.o}},
            saved);
}

}  // namespace nsa
