// Every number of query heads that may share a KV head, 1 to 16: tiles hold the heads of a group as
// rows, and most numbers fill none of them.
#include <vector>

#include "gpu.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

std::vector<std::int64_t> group_sizes() {
  if (sanitized()) return {7, 13};
  return {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
}

/// With blocks of 16, and with blocks of 64, some of which a query leaves out.
std::vector<Problem> problems(std::int64_t group, Dtype dtype) {
  std::vector<Problem> all{small_problem({40}, {400}, 2 * group, 2, 64, 64, dtype),
                           small_problem({1, 1}, {300, 300}, 2 * group, 2, 64, 64, dtype)};
  for (Problem& p : all) p.geometry = {32, 16, 64, 5, 50};
  if (!sanitized()) all.push_back(small_problem({130}, {0}, 2 * group, 2, 64, 64, dtype));
  return all;
}

/// Layers and models are made of the other stages; two of these know KV heads only.
bool knows_groups(const Variant& variant) {
  const Stage stage = variant.stages.front();
  return stage != Stage::compress && stage != Stage::ranges && stage < Stage::layer;
}

/// cuDNN compiles a plan for every shape, up to a second each: groups of 1, 7 and 13 will do.
bool takes_long(const Variant& variant, const Problem& p) {
  const bool plans = variant.name == "sdpa" || variant.name == "dense_sdpa";
  return plans && p.heads_per_group() % 6 != 1;
}

/// The points of a product choose an algorithm, whatever the heads: one will do.
std::vector<VariantId> points_of(const Variant& variant) {
  auto ids = ids_of(variant);
  if (variant.stages.front() != Stage::attend_selected) ids.resize(1);
  return ids;
}

/// All rows on one problem; how many.
int check_rows(const Problem& p, const Device& device, CUstream_st* stream) {
  int checked = 0;
  for (const Variant* row : cuda_rows(knows_groups)) {
    const Variant& variant = *row;
    // These launch a kernel, or all of them, for each row.
    if (sanitized() && (variant.role == Role::slow_path || variant.name == "sequential")) continue;
    if (takes_long(variant, p) || !supports(variant, p, device).supported) continue;
    const auto inputs = make_inputs(variant.stages, p, 7);
    for (const VariantId& id : points_of(variant)) {
      INFO(to_string(id) << " " << describe(p));
      check_launch(variant, p, inputs, stream, id.point);
      ++checked;
    }
  }
  return checked;
}

}  // namespace

TEST_CASE("groups of 1 to 16 heads give the oracle's answer on every CUDA row", "[gpu]") {
  const auto device = gpu_or_skip();
  if (!device) return;
  const Stream stream;
  for (const Dtype dtype : {Dtype::bf16, Dtype::fp32}) {
    for (const std::int64_t group : group_sizes()) {
      for (const Problem& p : problems(group, dtype)) {
        REQUIRE_FALSE(find_violation(p));
        const int checked = check_rows(p, *device, stream.get());
        INFO(describe(p));
        CHECK(checked > 10);
      }
    }
  }
}
