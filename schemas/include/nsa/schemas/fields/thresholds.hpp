// Fields of a thresholds file, from the evidence up.
#pragma once

#include "nsa/schemas/fields/problem.hpp"
#include "nsa/schemas/thresholds.hpp"

namespace nsa::fields {

template <>
inline constexpr auto kFields<DissentingBoard> = std::tuple{
    required("board", &DissentingBoard::board), required("variant", &DissentingBoard::variant),
    required("ratio", &DissentingBoard::ratio), required("lengths", &DissentingBoard::lengths)};

template <>
inline constexpr auto kFields<BoardSpread> = std::tuple{
    required("boards", &BoardSpread::boards), optional("ratio_low", &BoardSpread::ratio_low),
    optional("ratio_high", &BoardSpread::ratio_high),
    unless_default("dissenting", &BoardSpread::dissenting)};

template <>
inline constexpr auto kFields<Evidence> =
    std::tuple{optional("runner_up", &Evidence::runner_up),
               optional("median_ratio", &Evidence::median_ratio),
               optional("ratio_low", &Evidence::ratio_low),
               optional("ratio_high", &Evidence::ratio_high),
               optional("expected_regret", &Evidence::expected_regret),
               optional("pairs", &Evidence::pairs),
               optional("noise_floor", &Evidence::noise_floor),
               optional("unverified", &Evidence::unverified),
               optional("run_ids", &Evidence::run_ids),
               optional("p_better", &Evidence::p_better),
               optional("from_low", &Evidence::from_low),
               optional("from_high", &Evidence::from_high),
               optional("measured_from", &Evidence::measured_from),
               optional("measured_to", &Evidence::measured_to),
               unless_default("lengths", &Evidence::lengths),
               unless_default("ties", &Evidence::ties),
               unless_default("why", &Evidence::why),
               optional("boards", &Evidence::boards)};

template <>
inline constexpr auto kFields<ThresholdRange> =
    std::tuple{required("from", &ThresholdRange::from),
               optional("to", &ThresholdRange::to),
               required("variant", &ThresholdRange::variant),
               required("source_hash", &ThresholdRange::source_hash),
               unless_default("basis", &ThresholdRange::basis),
               required("evidence", &ThresholdRange::evidence)};

template <>
inline constexpr auto kFields<Alignment> =
    std::tuple{required("multiple", &Alignment::multiple), required("ranges", &Alignment::ranges)};

template <>
inline constexpr auto kFields<HeldOut> = std::tuple{
    required("lengths", &HeldOut::lengths), required("mean_regret", &HeldOut::mean_regret),
    required("worst_regret", &HeldOut::worst_regret), required("worst_at", &HeldOut::worst_at)};

template <>
inline constexpr auto kFields<Decision> = std::tuple{
    required("stages", &Decision::stages),       required("axis", &Decision::axis),
    required("unit", &Decision::unit),           required("launch", &Decision::launch),
    required("timer", &Decision::timer),         required("ranges", &Decision::ranges),
    optional("alignment", &Decision::alignment), optional("held_out", &Decision::held_out)};

template <>
inline constexpr auto kFields<Reserves> =
    std::tuple{optional("varlen_reserve_n", &Reserves::varlen_reserve_n),
               optional("varlen_reserve_k", &Reserves::varlen_reserve_k),
               optional("sel_pack_reserve_n", &Reserves::sel_pack_reserve_n),
               optional("sel_pack_reserve_l", &Reserves::sel_pack_reserve_l)};

template <>
inline constexpr auto kFields<ReserveGain> =
    std::tuple{required("saved_ns", &ReserveGain::saved_ns),
               required("share", &ReserveGain::share),
               required("problems", &ReserveGain::problems),
               required("faster", &ReserveGain::faster),
               required("bytes", &ReserveGain::bytes),
               required("axis", &ReserveGain::axis),
               required("measured_from", &ReserveGain::measured_from),
               required("measured_to", &ReserveGain::measured_to)};

template <>
inline constexpr auto kFields<ReserveGains> = std::tuple{
    optional("varlen", &ReserveGains::varlen), optional("sel_pack", &ReserveGains::sel_pack)};

template <>
inline constexpr auto kFields<FlatView> =
    std::tuple{optional("sel_ranges_v2_min_s", &FlatView::sel_ranges_v2_min_s),
               optional("fa2_min_len_win", &FlatView::fa2_min_len_win),
               optional("fa2_min_len_cmp", &FlatView::fa2_min_len_cmp),
               optional("sel_varlen_min_l", &FlatView::sel_varlen_min_l),
               optional("sel_triton_min_l", &FlatView::sel_triton_min_l),
               or_null("varlen_reserve_n", &FlatView::varlen_reserve_n),
               or_null("varlen_reserve_k", &FlatView::varlen_reserve_k),
               or_null("sel_pack_reserve_n", &FlatView::sel_pack_reserve_n),
               or_null("sel_pack_reserve_l", &FlatView::sel_pack_reserve_l),
               optional("force_sel_mask", &FlatView::force_sel_mask),
               optional("use_sel_pack", &FlatView::use_sel_pack),
               optional("use_sel_varlen", &FlatView::use_sel_varlen),
               optional("p_cmp_mixed", &FlatView::p_cmp_mixed),
               optional("gate_compile", &FlatView::gate_compile),
               optional("prefill_batched", &FlatView::prefill_batched),
               optional("lossy", &FlatView::lossy)};

template <>
inline constexpr auto kFields<PathTimesAt> =
    std::tuple{required("at", &PathTimesAt::at), required("ns", &PathTimesAt::ns)};

template <>
inline constexpr auto kFields<ProjectStageTimes> = std::tuple{
    required("stage", &ProjectStageTimes::stage), required("axis", &ProjectStageTimes::axis),
    required("ranges", &ProjectStageTimes::ranges), required("orders", &ProjectStageTimes::orders),
    required("measured", &ProjectStageTimes::measured)};

template <>
inline constexpr auto kFields<ProjectTimes> = std::tuple{
    required("project", &ProjectTimes::project), required("stages", &ProjectTimes::stages)};

template <>
inline constexpr auto kFields<DenseBreakEven> = std::tuple{
    or_null("from", &DenseBreakEven::from), required("axis", &DenseBreakEven::axis),
    required("baseline", &DenseBreakEven::baseline), required("largest", &DenseBreakEven::largest),
    required("ratio_at_largest", &DenseBreakEven::ratio_at_largest)};

template <>
inline constexpr auto kFields<ClassDecisions> =
    std::tuple{required("problem_class", &ClassDecisions::problem_class),
               required("decisions", &ClassDecisions::decisions),
               required("reserves", &ClassDecisions::reserves),
               unless_default("reserve_gains", &ClassDecisions::reserve_gains),
               required("flat", &ClassDecisions::flat),
               optional("dense_break_even", &ClassDecisions::dense_break_even),
               unless_default("projects", &ClassDecisions::projects)};

template <>
inline constexpr auto kFields<Validators> =
    std::tuple{unless_default("device_name", &Validators::device_name),
               unless_default("compute_capability", &Validators::compute_capability),
               unless_default("multiprocessors", &Validators::multiprocessors),
               unless_default("memory_bytes", &Validators::memory_bytes),
               unless_default("mig", &Validators::mig),
               unless_default("power_limit_w", &Validators::power_limit_w),
               unless_default("driver", &Validators::driver),
               unless_default("runtime", &Validators::runtime),
               unless_default("compiler", &Validators::compiler),
               unless_default("measurement_policy", &Validators::measurement_policy)};

template <>
inline constexpr auto kFields<ThresholdTable> =
    std::tuple{required("schema_version", &ThresholdTable::schema_version),
               required("executor", &ThresholdTable::executor),
               required("created_by", &ThresholdTable::created_by),
               required("complete", &ThresholdTable::complete),
               required("run_ids", &ThresholdTable::run_ids),
               required("device", &ThresholdTable::device),
               required("validators", &ThresholdTable::validators),
               required("classes", &ThresholdTable::classes)};

}  // namespace nsa::fields
