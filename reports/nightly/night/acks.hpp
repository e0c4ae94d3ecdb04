// Which changes somebody has answered for.
#pragma once

#include <string>
#include <string_view>

#include "series/examine.hpp"

namespace nsa::nightly {

/// Marks regressions that an ack covers: its glob matches the series, and the change lies in its
/// range of commits or within three nights of it. An ack covers the nearest change alone, so that a
/// further step shows; one without a range the first of the window. Commits of nights without one
/// are their times.
/// @param last  ordinal of the last night
void mark_acked(Examined& examined, std::int64_t last, const Options& options);

/// Whether an ack with this date still counts; one whose date cannot be compared does not.
/// @param today  a date (2026-01-31...) or Unix seconds
bool counts_until(std::string_view until, std::string_view today);

}  // namespace nsa::nightly
