// nsa-vibe: its paths, and what its variables do as its code reads them (master of 2025-09).
#include "rows.hpp"

namespace nsa::tuner {
namespace {

using enum SwitchTarget;
constexpr bool kEvenSlow = true;
constexpr std::string_view kFirstKey =
    "its single-query calls see the first key only in PyTorch 2.1 and later: compare the outputs";

// Range converter. NSA_SEL_RANGES_V2_MIN_S stands in its documents and is read by no public
// revision, so that one converter serves all lengths.
constexpr ProjectPath kRangesPaths[] = {{ranges_v1, "v1"}, {ranges_v2, "v2"}};
constexpr ProjectVariable kRangesV1[] = {{"NSA_SEL_RANGES_V2", "0"}};
constexpr ProjectVariable kRangesV2[] = {{"NSA_SEL_RANGES_V2", "1"}};
constexpr ProjectSetting kRanges[] = {{.path = ranges_v1, .variables = kRangesV1},
                                      {.path = ranges_v2, .variables = kRangesV2}};
constexpr ProjectVariable kRangesFrom[] = {{"NSA_SEL_RANGES_V2_MIN_S", "{min}"}};
constexpr ProjectSetting kAdaptiveRanges[] = {
    kRanges[0], kRanges[1], {ranges_v2, ranges_v1, Compared::seq_len, kInAllPhases, kRangesFrom}};

constexpr ProjectPath kScorePaths[] = {
    {.path = none, .name = "precise", .row = "materialised"},
    {.path = p_cmp_mixed, .name = "p_cmp_mixed", .row = "p_cmp_bf16"}};
constexpr ProjectVariable kPrecise[] = {{"NSA_P_CMP_MIXED", "0"}};
constexpr ProjectVariable kMixed[] = {{"NSA_P_CMP_MIXED", "1"}};
constexpr ProjectSetting kScore[] = {{.path = none, .variables = kPrecise},
                                     {.path = p_cmp_mixed, .variables = kMixed}};

constexpr ProjectPath kGatePaths[] = {{.path = none, .name = "eager", .row = "three_steps"},
                                      {.path = gate_fused, .name = "compiled"}};
constexpr ProjectVariable kEager[] = {{"NSA_GATE_COMPILE", "0"}};
// A sequential prefill has no compiled gate.
constexpr ProjectVariable kCompiled[] = {{"NSA_PREFILL_BATCHED", "1"}, {"NSA_GATE_COMPILE", "1"}};
constexpr ProjectVariable kCompiledStep[] = {{"NSA_GATE_COMPILE", "1"}};
constexpr ProjectSetting kGate[] = {
    {.path = none, .variables = kEager},
    {.path = gate_fused, .phases = kInPrefill, .variables = kCompiled},
    {.path = gate_fused, .phases = kInDecode, .variables = kCompiledStep}};

constexpr ProjectPath kAttentionPaths[] = {
    {.path = batched, .name = "batched", .phases = kInPrefill},
    {.path = sequential, .name = "sequential", .phases = kInPrefill}};
constexpr ProjectVariable kBatched[] = {{"NSA_PREFILL_BATCHED", "1"}};
constexpr ProjectVariable kSequential[] = {{"NSA_PREFILL_BATCHED", "0"}};
constexpr ProjectSetting kAttention[] = {{.path = batched, .variables = kBatched},
                                         {.path = sequential, .variables = kSequential}};

// Selected attention. The first switch that is on decides: mask, Triton, varlen, pack. Without any
// of them a batched prefill gathers and all else loops over ranges, a call for each row: these slow
// paths are no setting of the table.
constexpr ProjectPath kSelectedPaths[] = {
    {.path = masked, .name = "masked", .even_slow = kEvenSlow},
    {.path = packed, .name = "packed", .even_slow = kEvenSlow, .caution = kFirstKey},
    {.path = varlen_v1, .name = "varlen v1", .phases = kInPrefill, .even_slow = kEvenSlow},
    {.path = varlen_v2, .name = "varlen v2", .phases = kInPrefill, .even_slow = kEvenSlow},
    {.path = triton, .name = "triton", .even_slow = kEvenSlow},
    {.path = gather, .name = "gather", .phases = kInPrefill, .settable = false},
    {.path = row_loop, .name = "_sdpa_over_ranges", .settable = false}};
constexpr ProjectVariable kMasked[] = {{"NSA_FORCE_SEL_MASK", "1"}};
constexpr ProjectVariable kPacked[] = {{"NSA_FORCE_SEL_MASK", "0"},
                                       {"NSA_USE_TRITON_SEL", "0"},
                                       {"NSA_USE_SEL_VARLEN", "0"},
                                       {"NSA_USE_SEL_PACK", "1"}};
// FA-2 refuses more than 1024 packed rows, any real sequence, unless it is told not to.
constexpr ProjectVariable kVarlenV1[] = {
    {"NSA_PREFILL_BATCHED", "1"}, {"NSA_FORCE_SEL_MASK", "0"}, {"NSA_USE_TRITON_SEL", "0"},
    {"NSA_USE_SEL_VARLEN", "1"},  {"NSA_SEL_VARLEN_V2", "0"},  {"NSA_FA2_ALLOW_LARGE_BATCH", "1"}};
constexpr ProjectVariable kVarlenV2[] = {
    {"NSA_PREFILL_BATCHED", "1"}, {"NSA_FORCE_SEL_MASK", "0"},
    {"NSA_USE_TRITON_SEL", "0"},  {"NSA_USE_SEL_VARLEN", "1"},
    {"NSA_SEL_VARLEN_V2", "1"},   {"NSA_SEL_VARLEN_MIN_L", "{min}"},
    {"NSA_USE_SEL_PACK", "1"},    {"NSA_FA2_ALLOW_LARGE_BATCH", "1"}};
constexpr ProjectVariable kTriton[] = {{"NSA_FORCE_SEL_MASK", "0"},
                                       {"NSA_USE_TRITON_SEL", "1"},
                                       {"NSA_SEL_TRITON_MIN_L", "{min}"},
                                       {"NSA_USE_SEL_PACK", "1"}};
constexpr ProjectSetting kSelected[] = {
    {.path = masked, .variables = kMasked},
    {.path = packed, .variables = kPacked},
    {varlen_v2, packed, Compared::selected_row, kInPrefill, kVarlenV2},
    {.path = varlen_v1, .phases = kInPrefill, .variables = kVarlenV1},
    {triton, packed, Compared::selected_row, kInPrefill, kTriton}};

// Dense branches. NSA_USE_FA2 = 1 is for both, whatever a branch's own flag says, so the minimum of
// a branch keeps it off: -1 in a prefill; a decode step takes -1 for 1, so there it is a length
// that no row has.
constexpr std::string_view kOutOfReach = "999999";
// bench_fa2.py compares SDPA with a mask, which runs where FA-2 is off, with what runs where it is
// on and nothing else is forced: one varlen call over all rows.
constexpr ProjectPath kWindowPaths[] = {
    {.path = sdpa, .name = "sdpa", .row = "sdpa_math", .logged = "masked"},
    {.path = fa2_varlen,
     .name = "fa2 varlen",
     .logged = "fa2",
     .phases = kInPrefill,
     .refuses = nsa_vibe_refuses_fa2},
    {.path = fa2_dense, .name = "fa2 dense", .refuses = nsa_vibe_refuses_fa2}};
constexpr ProjectVariable kWindowSdpa[] = {{"NSA_FA2_MIN_LEN_WIN", "-1"}};
constexpr ProjectVariable kWindowSdpaStep[] = {{"NSA_FA2_MIN_LEN_WIN", kOutOfReach}};
constexpr ProjectVariable kWindowVarlen[] = {
    {"NSA_PREFILL_BATCHED", "1"},      {"NSA_USE_FA2", "1"},         {"NSA_ALLOW_SLIDING_FA2", "1"},
    {"NSA_FA2_MIN_LEN_WIN", "{min}"},  {"NSA_FA2_FORCE_DENSE", "0"}, {"NSA_WIN_FORCE_DENSE", "0"},
    {"NSA_FA2_ALLOW_LARGE_BATCH", "1"}};
constexpr ProjectVariable kWindowDense[] = {
    {"NSA_PREFILL_BATCHED", "1"},      {"NSA_USE_FA2", "1"},
    {"NSA_ALLOW_SLIDING_FA2", "1"},    {"NSA_FA2_MIN_LEN_WIN", "{min}"},
    {"NSA_FA2_FORCE_VARLEN", "0"},     {"NSA_WIN_FORCE_DENSE", "1"},
    {"NSA_FA2_ALLOW_LARGE_BATCH", "1"}};
constexpr ProjectVariable kWindowStep[] = {{"NSA_USE_FA2", "1"}, {"NSA_FA2_MIN_LEN_WIN", "{min}"}};
constexpr ProjectSetting kWindow[] = {
    {.path = sdpa, .phases = kInPrefill, .variables = kWindowSdpa},
    {.path = sdpa, .phases = kInDecode, .variables = kWindowSdpaStep},
    {fa2_varlen, sdpa, Compared::window_row, kInPrefill, kWindowVarlen},
    {fa2_dense, sdpa, Compared::window_row, kInPrefill, kWindowDense},
    {fa2_dense, sdpa, Compared::window_row, kInDecode, kWindowStep}};

constexpr ProjectVariable kCompressedSdpa[] = {{"NSA_FA2_MIN_LEN_CMP", "-1"}};
constexpr ProjectVariable kCompressedSdpaStep[] = {{"NSA_FA2_MIN_LEN_CMP", kOutOfReach}};
constexpr ProjectVariable kCompressedVarlen[] = {{"NSA_PREFILL_BATCHED", "1"},
                                                 {"NSA_USE_FA2", "1"},
                                                 {"NSA_FA2_MIN_LEN_CMP", "{min}"},
                                                 {"NSA_FA2_FORCE_DENSE", "0"},
                                                 {"NSA_FA2_ALLOW_LARGE_BATCH", "1"}};
constexpr ProjectVariable kCompressedDense[] = {
    {"NSA_PREFILL_BATCHED", "1"},     {"NSA_USE_FA2", "1"},
    {"NSA_FA2_MIN_LEN_CMP", "{min}"}, {"NSA_FA2_FORCE_VARLEN", "0"},
    {"NSA_FA2_FORCE_DENSE", "1"},     {"NSA_FA2_ALLOW_LARGE_BATCH", "1"}};
constexpr ProjectVariable kCompressedStep[] = {{"NSA_USE_FA2", "1"},
                                               {"NSA_FA2_MIN_LEN_CMP", "{min}"}};
constexpr ProjectSetting kCompressed[] = {
    {.path = sdpa, .phases = kInPrefill, .variables = kCompressedSdpa},
    {.path = sdpa, .phases = kInDecode, .variables = kCompressedSdpaStep},
    {fa2_varlen, sdpa, Compared::compressed_tokens, kInPrefill, kCompressedVarlen},
    {fa2_dense, sdpa, Compared::compressed_tokens, kInPrefill, kCompressedDense},
    {fa2_dense, sdpa, Compared::compressed_tokens, kInDecode, kCompressedStep}};

constexpr ProjectStage kStages[] = {{Stage::attention, kAttentionPaths, kAttention},
                                    {Stage::score, kScorePaths, kScore},
                                    {Stage::ranges, kRangesPaths, kRanges},
                                    {Stage::attend_selected, kSelectedPaths, kSelected},
                                    {Stage::attend_window, kWindowPaths, kWindow},
                                    {Stage::attend_compressed, kWindowPaths, kCompressed},
                                    {Stage::gate_combine, kGatePaths, kGate}};
constexpr ProjectStage kStagesOfUsers[] = {
    kStages[0], kStages[1], {Stage::ranges, kRangesPaths, kAdaptiveRanges}, kStages[3], kStages[4],
    kStages[5], kStages[6]};
constexpr ProjectReserveSize kVarlenSizes[] = {
    {"NSA_VARLEN_RESERVE_N", &Reserves::varlen_reserve_n, 1'000'000},
    {"NSA_VARLEN_RESERVE_K", &Reserves::varlen_reserve_k, 100'000'000}};
constexpr ProjectReserveSize kPackSizes[] = {
    {"NSA_SEL_PACK_RESERVE_N", &Reserves::sel_pack_reserve_n, 100'000},
    {"NSA_SEL_PACK_RESERVE_L", &Reserves::sel_pack_reserve_l, 10'000}};
constexpr SwitchTarget kVarlen[] = {varlen_v1, varlen_v2};
constexpr SwitchTarget kPack[] = {packed};
constexpr ProjectReserve kReserves[] = {{kVarlen, &ReserveGains::varlen, kVarlenSizes},
                                        {kPack, &ReserveGains::sel_pack, kPackSizes}};
// The trainer copies the first three into the environment; the last two are read by its threshold
// tools alone.
constexpr ProjectKey kKeys[] = {{"runtime.fa2_enabled", "NSA_USE_FA2", true},
                                {"runtime.fa2_min_len_win", "NSA_FA2_MIN_LEN_WIN"},
                                {"runtime.fa2_min_len_cmp", "NSA_FA2_MIN_LEN_CMP"},
                                {"runtime.use_triton_sel", "NSA_USE_TRITON_SEL", true},
                                {"runtime.sel_triton_min_L", "NSA_SEL_TRITON_MIN_L"}};

}  // namespace

Project nsa_vibe() {
  return {.name = "nsa-vibe",
          .what = "the PyTorch research code of NSA, master of 2025-09",
          .always = "1",
          .stages = kStages,
          .reserves = kReserves,
          .keys = kKeys,
          .complete = nsa_vibe_complete,
          .route = nsa_vibe_route};
}

const Project& users_names() {
  static const Project kNames = [] {
    Project names = nsa_vibe();
    names.stages = kStagesOfUsers;
    names.takes_all = true;
    return names;
  }();
  return kNames;
}

}  // namespace nsa::tuner
