// What nsa-vibe runs with given variables: its order of switches, as a pure function.
#include <algorithm>

#include "rows.hpp"

namespace nsa::tuner {
namespace {

using enum SwitchTarget;
constexpr std::int64_t kMostRows = 1024;  // that its FA-2 wrappers take unless told otherwise

/// The variables of one process and what they are asked for.
class Walk {
 public:
  Walk(const EnvSnapshot& environment, const Problem& problem, const Device& device)
      : environment_(environment), problem_(problem), device_(device) {}

  bool on(std::string_view name, bool otherwise = false) const {
    return environment_.boolean(name).value_or(otherwise);
  }
  bool present(std::string_view name) const { return environment_.raw(name) != nullptr; }
  std::int64_t number(std::string_view name, std::int64_t otherwise) const {
    return environment_.integer(name).value_or(otherwise);
  }
  bool batched_prefill() const {
    const bool prefill = problem_.phase != Phase::decode;
    return prefill && number("NSA_PREFILL_TILE", 0) <= 0 && on("NSA_PREFILL_BATCHED");
  }
  bool ada() const { return device_.compute_capability == 89; }
  const Problem& problem() const { return problem_; }
  const Device& device() const { return device_; }

  /// `path`, with the values of those names that are set, or "default".
  ProjectRoute taken(Stage stage, SwitchTarget path,
                     std::initializer_list<std::string_view> names) const {
    std::string why;
    for (const std::string_view name : names) {
      const std::string* value = environment_.raw(name);
      if (value) why += (why.empty() ? "" : ", ") + std::string(name) + "=" + *value;
    }
    return {stage, path, why.empty() ? "default" : why};
  }

 private:
  const EnvSnapshot& environment_;
  const Problem& problem_;
  const Device& device_;
};

/// Tokens in the longest row of selected blocks.
std::int64_t selected_row(const Problem& p) {
  return std::min(p.max_kv_len(), p.geometry.sel_count * p.geometry.sel_block);
}

ProjectRoute varlen(const Walk& walk) {
  constexpr Stage stage = Stage::attend_selected;
  if (walk.on("NSA_SEL_VARLEN_FORCE_PARITY"))
    return walk.taken(stage, packed, {"NSA_USE_SEL_VARLEN", "NSA_SEL_VARLEN_FORCE_PARITY"});
  if (!walk.on("NSA_SEL_VARLEN_V2", true))
    return walk.taken(stage, varlen_v1, {"NSA_USE_SEL_VARLEN", "NSA_SEL_VARLEN_V2"});
  const bool below = selected_row(walk.problem()) < walk.number("NSA_SEL_VARLEN_MIN_L", 0);
  return walk.taken(stage, below ? packed : varlen_v2,
                    {"NSA_USE_SEL_VARLEN", "NSA_SEL_VARLEN_MIN_L"});
}

ProjectRoute selected(const Walk& walk) {
  constexpr Stage stage = Stage::attend_selected;
  const bool fast = !walk.on("NSA_FORCE_PARITY"), batch = walk.batched_prefill();
  if (fast && walk.on("NSA_FORCE_SEL_MASK"))
    return walk.taken(stage, masked, {"NSA_FORCE_SEL_MASK"});
  // In a batched prefill its environment check forgets about parity.
  if ((fast || batch) && walk.on("NSA_USE_TRITON_SEL")) {
    const bool guarded = walk.ada() && !walk.on("NSA_TRITON_SEL_FORCE");
    const bool below = selected_row(walk.problem()) < walk.number("NSA_SEL_TRITON_MIN_L", 4096);
    return walk.taken(stage, guarded || below ? packed : triton,
                      {"NSA_USE_TRITON_SEL", "NSA_SEL_TRITON_MIN_L", "NSA_TRITON_SEL_FORCE"});
  }
  if (fast && batch && walk.on("NSA_USE_SEL_VARLEN")) return varlen(walk);
  if (fast && walk.on("NSA_USE_SEL_PACK", true))
    return walk.taken(stage, packed, {"NSA_USE_SEL_PACK"});
  if ((fast || batch) && walk.on("NSA_USE_SEL_MASK"))
    return walk.taken(stage, masked, {"NSA_USE_SEL_PACK", "NSA_USE_SEL_MASK"});
  return walk.taken(stage, batch ? gather : row_loop, {"NSA_FORCE_PARITY", "NSA_USE_SEL_PACK"});
}

/// Whether FA-2 is on for a branch: the global switch wins, and any branch flag that is there, even
/// a 0, turns both on where the global one is unset.
bool fa2_wanted(const Walk& walk) {
  if (walk.present("NSA_USE_FA2")) return walk.on("NSA_USE_FA2");
  return walk.present("NSA_USE_FA2_WIN") || walk.present("NSA_USE_FA2_CMP");
}

ProjectRoute fa2(const Walk& walk, Stage stage, std::string_view min_name, std::int64_t length) {
  const bool step = walk.problem().phase == Phase::decode || !walk.batched_prefill();
  const bool window = stage == Stage::attend_window;
  const auto stays = [&](std::initializer_list<std::string_view> names) {
    return walk.taken(stage, sdpa, names);
  };
  if (!fa2_wanted(walk)) return stays({"NSA_USE_FA2"});
  if (walk.ada() && !walk.on("NSA_FA2_FORCE")) return stays({"NSA_USE_FA2", "NSA_FA2_FORCE"});
  const bool varlen_form = walk.on("NSA_FA2_FORCE_VARLEN");
  const bool dense_form = !varlen_form && (walk.on("NSA_FA2_FORCE_DENSE") ||
                                           (window && walk.on("NSA_WIN_FORCE_DENSE")));
  const bool forced = varlen_form || walk.on("NSA_FA2_FORCE_DENSE");
  if (window && !step && !forced && !walk.on("NSA_ALLOW_SLIDING_FA2"))
    return stays({"NSA_USE_FA2", "NSA_ALLOW_SLIDING_FA2"});
  std::int64_t least = walk.number(min_name, 16);
  if (step) least = std::max<std::int64_t>(least, 1);  // so that -1 means always
  if (least <= 0) return stays({min_name});
  if (length < least) {
    const std::string set = walk.present(min_name) ? "" : " (default)";
    return {stage, sdpa,
            std::string(min_name) + "=" + std::to_string(least) + set + "; the length here is " +
                std::to_string(length)};
  }
  if (const auto refusal = nsa_vibe_refuses_fa2(class_of(walk.problem()), walk.device());
      !refusal.empty())
    return {stage, sdpa, std::string(refusal)};
  const Problem& p = walk.problem();
  const std::int64_t rows = p.batch() * p.max_seq_len() * p.kv_heads;
  if (!step && rows > kMostRows && !walk.on("NSA_FA2_ALLOW_LARGE_BATCH"))
    return stays({"NSA_USE_FA2", "NSA_FA2_ALLOW_LARGE_BATCH"});
  return walk.taken(stage, step || dense_form ? fa2_dense : fa2_varlen, {"NSA_USE_FA2", min_name});
}

ProjectRoute either(const Walk& walk, Stage stage, std::string_view name, bool otherwise,
                    SwitchTarget on, SwitchTarget off) {
  return walk.taken(stage, walk.on(name, otherwise) ? on : off, {name});
}

}  // namespace

std::string_view nsa_vibe_refuses_fa2(const ProblemClass& of, const Device& device) {
  const std::int64_t most = device.compute_capability.value_or(90) >= 90 ? 256 : 128;
  if (of.dtype != Dtype::bf16 && of.dtype != Dtype::fp16)
    return "its FlashAttention-2 takes bf16 and fp16 only";
  if (of.head_dim_k != of.head_dim_v) return "its FlashAttention-2 takes equal head dims only";
  if (of.head_dim_k % 8 != 0 || of.head_dim_k > most)
    return "its FlashAttention-2 does not take this head dim";
  return {};
}

std::vector<ProjectRoute> nsa_vibe_route(const EnvSnapshot& environment, const Problem& problem,
                                         const Device& device) {
  const Walk walk(environment, problem, device);
  std::vector<ProjectRoute> routes;
  if (problem.phase != Phase::decode) {
    routes.push_back(walk.taken(Stage::attention, walk.batched_prefill() ? batched : sequential,
                                {"NSA_PREFILL_TILE", "NSA_PREFILL_BATCHED"}));
  }
  routes.push_back(either(walk, Stage::score, "NSA_P_CMP_MIXED", false, p_cmp_mixed, none));
  routes.push_back(either(walk, Stage::ranges, "NSA_SEL_RANGES_V2", true, ranges_v2, ranges_v1));
  routes.push_back(selected(walk));
  routes.push_back(
      fa2(walk, Stage::attend_window, "NSA_FA2_MIN_LEN_WIN", axis_value(problem, Axis::row_len)));
  routes.push_back(
      fa2(walk, Stage::attend_compressed, "NSA_FA2_MIN_LEN_CMP", problem.max_compressed()));
  const bool compiles = problem.phase == Phase::decode || walk.batched_prefill();
  routes.push_back(either(walk, Stage::gate_combine, "NSA_GATE_COMPILE", false,
                          compiles ? gate_fused : none, none));
  return routes;
}

std::vector<std::string> nsa_vibe_complete(ProjectValues& values, Phase phase,
                                           const Device& device) {
  const auto at = values.find("NSA_USE_FA2");
  const char* const minima[] = {"NSA_FA2_MIN_LEN_WIN", "NSA_FA2_MIN_LEN_CMP"};
  const bool fa2_on = at != values.end();  // no setting asks for 0
  std::vector<std::string> added;
  if (fa2_on) {
    for (const char* minimum : minima) {
      const bool is_new =
          values.try_emplace(minimum, phase == Phase::decode ? "999999" : "-1").second;
      if (is_new)
        added.push_back(std::string(minimum) +
                        ": keeps a branch off of which nothing "
                        "is decided, as NSA_USE_FA2 is for both");
    }
  } else if (values.contains(minima[0]) && values.contains(minima[1])) {
    values["NSA_USE_FA2"] = "0";
  }
  if (device.compute_capability == 89) {
    if (fa2_on) values["NSA_FA2_FORCE"] = "1";
    if (values.contains("NSA_USE_TRITON_SEL") && values["NSA_USE_TRITON_SEL"] == "1")
      values["NSA_TRITON_SEL_FORCE"] = "1";
  }
  return added;
}

}  // namespace nsa::tuner
