// Fields of the messages of the worker protocol, and the word by which "type" tells them apart.
#pragma once

#include "nsa/schemas/fields/launch.hpp"
#include "nsa/schemas/fields/measurement.hpp"
#include "nsa/schemas/worker.hpp"

namespace nsa::fields {

template <>
inline constexpr auto kFields<worker::HelloRequest> =
    std::tuple{required("protocol", &worker::HelloRequest::protocol),
               required("device", &worker::HelloRequest::device)};

template <>
inline constexpr auto kFields<worker::DescribeRequest> =
    std::tuple{required("id", &worker::DescribeRequest::id),
               required("problem", &worker::DescribeRequest::problem),
               required("variant", &worker::DescribeRequest::variant)};

template <>
inline constexpr auto kFields<worker::PrepareRequest> =
    std::tuple{required("id", &worker::PrepareRequest::id),
               required("problem", &worker::PrepareRequest::problem),
               required("variant", &worker::PrepareRequest::variant),
               required("seed", &worker::PrepareRequest::seed),
               or_null("inputs", &worker::PrepareRequest::inputs)};

template <>
inline constexpr auto kFields<worker::VerifyRequest> = std::tuple{
    required("id", &worker::VerifyRequest::id), required("handle", &worker::VerifyRequest::handle),
    or_null("rows", &worker::VerifyRequest::rows),
    required("outputs", &worker::VerifyRequest::outputs)};

template <>
inline constexpr auto kFields<worker::MeasureRequest> =
    std::tuple{required("id", &worker::MeasureRequest::id),
               required("handle", &worker::MeasureRequest::handle),
               required("samples", &worker::MeasureRequest::samples),
               required("cold", &worker::MeasureRequest::cold),
               required("launch", &worker::MeasureRequest::launch),
               required("timer", &worker::MeasureRequest::timer)};

template <>
inline constexpr auto kFields<worker::TraceRequest> = std::tuple{
    required("id", &worker::TraceRequest::id), required("handle", &worker::TraceRequest::handle),
    required("launch", &worker::TraceRequest::launch),
    required("samples", &worker::TraceRequest::samples)};

template <>
inline constexpr auto kFields<worker::CountRequest> = std::tuple{
    required("id", &worker::CountRequest::id), required("handle", &worker::CountRequest::handle),
    required("launch", &worker::CountRequest::launch),
    required("cold", &worker::CountRequest::cold)};

template <>
inline constexpr auto kFields<worker::ReleaseRequest> =
    std::tuple{required("id", &worker::ReleaseRequest::id),
               required("handle", &worker::ReleaseRequest::handle)};

template <>
inline constexpr auto kFields<worker::OfferedVariant> =
    std::tuple{required("stages", &worker::OfferedVariant::stages),
               required("name", &worker::OfferedVariant::name),
               optional("points", &worker::OfferedVariant::points),
               optional("source_hash", &worker::OfferedVariant::source_hash),
               unless_default("order", &worker::OfferedVariant::order),
               unless_default("direction", &worker::OfferedVariant::direction)};

template <>
inline constexpr auto kFields<worker::HelloReply> =
    std::tuple{required("protocol", &worker::HelloReply::protocol),
               required("worker", &worker::HelloReply::worker),
               required("executor", &worker::HelloReply::executor),
               optional("generator", &worker::HelloReply::generator),
               optional("verifies", &worker::HelloReply::verifies),
               required("device", &worker::HelloReply::device),
               required("variants", &worker::HelloReply::variants),
               unless_default("simulated", &worker::HelloReply::simulated)};

template <>
inline constexpr auto kFields<worker::DescribedReply> =
    std::tuple{required("id", &worker::DescribedReply::id),
               required("supported", &worker::DescribedReply::supported),
               optional("reason", &worker::DescribedReply::reason),
               optional("flop", &worker::DescribedReply::flop),
               optional("bytes", &worker::DescribedReply::bytes),
               optional("workspace_bytes", &worker::DescribedReply::workspace_bytes)};

template <>
inline constexpr auto kFields<worker::PreparedReply> = std::tuple{
    required("id", &worker::PreparedReply::id), required("handle", &worker::PreparedReply::handle),
    optional("first_call_ns", &worker::PreparedReply::first_call_ns),
    optional("workspace_bytes", &worker::PreparedReply::workspace_bytes)};

template <>
inline constexpr auto kFields<worker::VerifiedReply> =
    std::tuple{required("id", &worker::VerifiedReply::id),
               required("poison_left", &worker::VerifiedReply::poison_left),
               required("non_finite", &worker::VerifiedReply::non_finite),
               error("worst_row_error", &worker::VerifiedReply::worst_row_error)};

template <>
inline constexpr auto kFields<worker::MeasuredReply> =
    std::tuple{required("id", &worker::MeasuredReply::id),
               required("samples", &worker::MeasuredReply::samples),
               unless_default("clocks", &worker::MeasuredReply::clocks),
               optional("grow_events", &worker::MeasuredReply::grow_events),
               optional("need", &worker::MeasuredReply::need),
               unless_default("note", &worker::MeasuredReply::note)};

template <>
inline constexpr auto kFields<worker::TracedReply> = std::tuple{
    required("id", &worker::TracedReply::id), required("trace", &worker::TracedReply::trace)};

template <>
inline constexpr auto kFields<worker::CountedReply> =
    std::tuple{required("id", &worker::CountedReply::id),
               required("counters", &worker::CountedReply::counters)};

template <>
inline constexpr auto kFields<worker::ReleasedReply> =
    std::tuple{required("id", &worker::ReleasedReply::id)};

template <>
inline constexpr auto kFields<worker::FailedReply> = std::tuple{
    optional("id", &worker::FailedReply::id), required("status", &worker::FailedReply::status),
    required("reason", &worker::FailedReply::reason)};

/// The word of a message under "type".
template <class Message>
inline constexpr const char* kType = nullptr;
template <>
inline constexpr const char* kType<worker::HelloRequest> = "hello";
template <>
inline constexpr const char* kType<worker::DescribeRequest> = "describe";
template <>
inline constexpr const char* kType<worker::PrepareRequest> = "prepare";
template <>
inline constexpr const char* kType<worker::VerifyRequest> = "verify";
template <>
inline constexpr const char* kType<worker::MeasureRequest> = "measure";
template <>
inline constexpr const char* kType<worker::TraceRequest> = "trace";
template <>
inline constexpr const char* kType<worker::CountRequest> = "count";
template <>
inline constexpr const char* kType<worker::ReleaseRequest> = "release";
template <>
inline constexpr const char* kType<worker::ByeRequest> = "bye";
template <>
inline constexpr const char* kType<worker::HelloReply> = "hello";
template <>
inline constexpr const char* kType<worker::DescribedReply> = "described";
template <>
inline constexpr const char* kType<worker::PreparedReply> = "prepared";
template <>
inline constexpr const char* kType<worker::VerifiedReply> = "verified";
template <>
inline constexpr const char* kType<worker::MeasuredReply> = "measured";
template <>
inline constexpr const char* kType<worker::TracedReply> = "traced";
template <>
inline constexpr const char* kType<worker::CountedReply> = "counted";
template <>
inline constexpr const char* kType<worker::ReleasedReply> = "released";
template <>
inline constexpr const char* kType<worker::FailedReply> = "failed";

}  // namespace nsa::fields
