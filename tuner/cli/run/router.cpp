#include "run/router.hpp"

#include <algorithm>

#include "nsa/kernels/dense_by_cudnn.hpp"
#include "routing_inputs.hpp"

namespace nsa::cli {
namespace {

/// Dense attention as the window's rows see it: a window back to the first token.
Problem dense_of(const RunPlan& plan, Direction direction) {
  const auto batch = static_cast<std::size_t>(plan.batch);
  Problem p = problem_of(plan.config, std::vector<std::int64_t>(batch, plan.seq_len),
                         std::vector<std::int64_t>(batch, 0));
  p.geometry.window = std::max<std::int64_t>(p.max_kv_len(), 1);
  p.direction = direction;
  return p;
}

/// A wish that is not met would be another measurement than the one that was asked for.
void require_asked(const Router& router, const Problem& p) {
  const Choice choice = router.choose(Stage::attend_window, p);
  if (choice.source == Source::api) return;
  throw InputError(std::string("--attention dense_sdpa: ") +
                   (choice.fallback_reason ? choice.fallback_reason : "cuDNN cannot run this") +
                   "; take --attention dense");
}

}  // namespace

Router router_of(const Settings& settings, const Device& device, const RunOptions& o,
                 const RunPlan& plan) {
  Router router =
      make_router(settings, device, o.thresholds, o.no_thresholds,
                  with_switches(settings, snapshot_environment(), plan.switches),
                  plan.dense_sdpa ? dense_by_cudnn(!o.train.nondeterministic) : ApiOverrides{});
  if (plan.dense_sdpa) {
    require_asked(router, dense_of(plan, Direction::forward));
    if (o.train.on) require_asked(router, dense_of(plan, Direction::backward));
  }
  return router;
}

}  // namespace nsa::cli
