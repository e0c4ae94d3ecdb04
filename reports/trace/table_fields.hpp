// Fields of the tables in the document of `trace summary --json`, in their order.
#pragma once

#include "nsa/schemas/fields/json.hpp"
#include "nsa/trace/collectives.hpp"
#include "nsa/trace/critical_path.hpp"
#include "nsa/trace/tables.hpp"

namespace nsa::fields {

template <>
inline constexpr auto kFields<trace::StepCause> = std::tuple{
    required("what", &trace::StepCause::what), required("more_ns", &trace::StepCause::more_ns)};

template <>
inline constexpr auto kFields<trace::StepTimes> =
    std::tuple{required("count", &trace::StepTimes::count),
               required("median_ns", &trace::StepTimes::median_ns),
               required("p95_ns", &trace::StepTimes::p95_ns),
               required("worst_ns", &trace::StepTimes::worst_ns),
               required("worst", &trace::StepTimes::worst),
               required("on_device", &trace::StepTimes::on_device),
               required("causes", &trace::StepTimes::causes)};

template <>
inline constexpr auto kFields<trace::CollectiveRow> = std::tuple{
    required("collective", &trace::CollectiveRow::collective),
    required("transport", &trace::CollectiveRow::transport),
    required("group", &trace::CollectiveRow::group),
    or_null("group_size", &trace::CollectiveRow::group_size),
    required("dtype", &trace::CollectiveRow::dtype),
    or_null("bytes", &trace::CollectiveRow::bytes),
    required("count", &trace::CollectiveRow::count),
    required("matched", &trace::CollectiveRow::matched),
    required("complete", &trace::CollectiveRow::complete),
    required("total_ns", &trace::CollectiveRow::total_ns),
    or_null("wait_ns", &trace::CollectiveRow::wait_ns),
    required("median_ns", &trace::CollectiveRow::median_ns),
    or_null("median_transfer_ns", &trace::CollectiveRow::median_transfer_ns),
    or_null("median_spread_ns", &trace::CollectiveRow::median_spread_ns),
    or_null("worst_spread_ns", &trace::CollectiveRow::worst_spread_ns),
    or_null("median_algorithm_gb_per_s", &trace::CollectiveRow::median_algorithm_gb_per_s),
    or_null("median_bus_gb_per_s", &trace::CollectiveRow::median_bus_gb_per_s),
    or_null("best_bus_gb_per_s", &trace::CollectiveRow::best_bus_gb_per_s)};

template <>
inline constexpr auto kFields<trace::Straggler> = std::tuple{
    required("part", &trace::Straggler::part), required("device", &trace::Straggler::device),
    or_null("rank", &trace::Straggler::rank)};

template <>
inline constexpr auto kFields<trace::CollectiveCall> =
    std::tuple{required("collective", &trace::CollectiveCall::collective),
               required("group", &trace::CollectiveCall::group),
               or_null("bytes", &trace::CollectiveCall::bytes),
               required("start_ns", &trace::CollectiveCall::start_ns),
               required("ranks", &trace::CollectiveCall::ranks),
               required("transfer_ns", &trace::CollectiveCall::transfer_ns),
               required("wait_ns", &trace::CollectiveCall::wait_ns),
               required("spread_ns", &trace::CollectiveCall::spread_ns),
               required("last", &trace::CollectiveCall::last)};

template <>
inline constexpr auto kFields<trace::StragglerRow> =
    std::tuple{required("part", &trace::StragglerRow::part),
               required("device", &trace::StragglerRow::device),
               or_null("rank", &trace::StragglerRow::rank),
               required("collectives", &trace::StragglerRow::collectives),
               required("last", &trace::StragglerRow::last),
               required("late_ns", &trace::StragglerRow::late_ns),
               required("wait_ns", &trace::StragglerRow::wait_ns),
               required("comm_ns", &trace::StragglerRow::comm_ns)};

template <>
inline constexpr auto kFields<trace::Collectives> =
    std::tuple{required("rows", &trace::Collectives::rows),
               required("longest_waits", &trace::Collectives::longest_waits),
               required("ranks", &trace::Collectives::ranks),
               required("unmatched", &trace::Collectives::unmatched),
               or_null("arrivals", &trace::Collectives::arrivals)};

template <>
inline constexpr auto kFields<trace::CopyRow> =
    std::tuple{required("kind", &trace::CopyRow::kind),
               or_null("memory", &trace::CopyRow::memory),
               required("count", &trace::CopyRow::count),
               required("bytes", &trace::CopyRow::bytes),
               required("total_ns", &trace::CopyRow::total_ns),
               or_null("median_gb_per_s", &trace::CopyRow::median_gb_per_s),
               or_null("best_gb_per_s", &trace::CopyRow::best_gb_per_s)};

template <>
inline constexpr auto kFields<trace::PathPart> = std::tuple{
    required("what", &trace::PathPart::what), required("name", &trace::PathPart::name),
    required("count", &trace::PathPart::count), required("total_ns", &trace::PathPart::total_ns)};

template <>
inline constexpr auto kFields<trace::WhatIf> = std::tuple{
    required("what", &trace::WhatIf::what), required("name", &trace::WhatIf::name),
    required("total_ns", &trace::WhatIf::total_ns), required("gain_ns", &trace::WhatIf::gain_ns),
    required("at_least", &trace::WhatIf::at_least)};

template <>
inline constexpr auto kFields<trace::PythonLine> = std::tuple{
    required("file", &trace::PythonLine::file), required("line", &trace::PythonLine::line),
    required("function", &trace::PythonLine::function),
    required("within", &trace::PythonLine::within),
    required("samples", &trace::PythonLine::samples)};

template <>
inline constexpr auto kFields<trace::GapLine> =
    std::tuple{inlined(&trace::GapLine::at), required("class", &trace::GapLine::idle_class)};

template <>
inline constexpr auto kFields<trace::CriticalPath> =
    std::tuple{required("start_ns", &trace::CriticalPath::start_ns),
               required("length_ns", &trace::CriticalPath::length_ns),
               required("steps", &trace::CriticalPath::steps),
               required("events", &trace::CriticalPath::events),
               required("parts", &trace::CriticalPath::parts),
               required("what_if", &trace::CriticalPath::what_if),
               unless_default("samples", &trace::CriticalPath::samples),
               unless_default("lines", &trace::CriticalPath::lines)};

template <>
inline constexpr auto kFields<trace::GapCause> =
    std::tuple{required("what", &trace::GapCause::what),
               required("name", &trace::GapCause::name),
               required("class", &trace::GapCause::idle_class),
               required("total_ns", &trace::GapCause::total_ns),
               unless_default("count", &trace::GapCause::count),
               unless_default("samples", &trace::GapCause::samples),
               unless_default("lines", &trace::GapCause::lines)};

template <>
inline constexpr auto kFields<trace::GapRow> =
    std::tuple{required("device", &trace::GapRow::device),
               required("part", &trace::GapRow::part),
               required("start_ns", &trace::GapRow::start_ns),
               required("duration_ns", &trace::GapRow::duration_ns),
               required("what", &trace::GapRow::what),
               required("name", &trace::GapRow::name),
               required("ends_with", &trace::GapRow::ends_with),
               required("parts", &trace::GapRow::parts),
               unless_default("samples", &trace::GapRow::samples),
               unless_default("lines", &trace::GapRow::lines)};

template <>
inline constexpr auto kFields<trace::Gaps> = std::tuple{
    required("longest", &trace::Gaps::longest), required("causes", &trace::Gaps::causes),
    unless_default("samples", &trace::Gaps::samples), unless_default("lines", &trace::Gaps::lines)};

template <>
inline constexpr auto kFields<trace::QueueRow> = std::tuple{
    required("device", &trace::QueueRow::device),     required("part", &trace::QueueRow::part),
    required("launches", &trace::QueueRow::launches), required("most", &trace::QueueRow::most),
    required("empty_ns", &trace::QueueRow::empty_ns), required("mean", &trace::QueueRow::mean),
    required("bin_ns", &trace::QueueRow::bin_ns),     required("means", &trace::QueueRow::means)};

template <>
inline constexpr auto kFields<trace::OperatorShape> =
    std::tuple{required("inputs", &trace::OperatorShape::inputs),
               required("count", &trace::OperatorShape::count),
               required("gpu_ns", &trace::OperatorShape::gpu_ns)};

template <>
inline constexpr auto kFields<trace::OperatorRow> =
    std::tuple{required("name", &trace::OperatorRow::name),
               required("count", &trace::OperatorRow::count),
               required("host_ns", &trace::OperatorRow::host_ns),
               required("host_self_ns", &trace::OperatorRow::host_self_ns),
               required("gpu_ns", &trace::OperatorRow::gpu_ns),
               required("gpu_self_ns", &trace::OperatorRow::gpu_self_ns),
               required("gpu_ops", &trace::OperatorRow::gpu_ops),
               or_null("flop", &trace::OperatorRow::flop),
               required("shapes", &trace::OperatorRow::shapes)};

template <>
inline constexpr auto kFields<trace::AnnotationRow> =
    std::tuple{required("name", &trace::AnnotationRow::name),
               required("count", &trace::AnnotationRow::count),
               required("host_ns", &trace::AnnotationRow::host_ns),
               required("gpu_ns", &trace::AnnotationRow::gpu_ns),
               required("projected_ns", &trace::AnnotationRow::projected_ns),
               required("backward_ns", &trace::AnnotationRow::backward_ns)};

template <>
inline constexpr auto kFields<trace::ModuleRow> =
    std::tuple{required("name", &trace::ModuleRow::name),
               required("count", &trace::ModuleRow::count),
               required("host_ns", &trace::ModuleRow::host_ns),
               required("gpu_ns", &trace::ModuleRow::gpu_ns),
               required("gpu_self_ns", &trace::ModuleRow::gpu_self_ns),
               required("backward_ns", &trace::ModuleRow::backward_ns)};

}  // namespace nsa::fields
