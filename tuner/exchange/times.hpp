// Times of other programs as whole nanoseconds, and the statistics of a row.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nsa/schemas/measurement.hpp"
#include "tree.hpp"

namespace nsa::exchange {

inline constexpr double kMillisecond = 1e6, kSecond = 1e9;  // in ns

/// `value` units of `unit_ns` nanoseconds; 0 where it is no time (zero or less, below half a
/// nanosecond). InputError where it is no number, or above eleven days.
std::int64_t nanoseconds(double value, double unit_ns, const std::string& where);
/// A list of times in milliseconds, exact for whole nanoseconds below 104 days; and back.
Tree milliseconds(const std::vector<std::int64_t>& times);
std::vector<std::int64_t> nanoseconds_of(const Tree& list, double unit_ns,
                                         const std::string& where);
/// A whole text as a number in decimal. InputError otherwise.
double parse_number(const std::string& text, const std::string& where);
/// Whether a text is a time by which runs can be sorted: "2026-11-21T12:00:00...".
bool is_time(const std::string& text);
/// Gives the row its samples, with their number, median and spread.
void set_samples(Measurement& row, std::vector<Sample> samples);

}  // namespace nsa::exchange
