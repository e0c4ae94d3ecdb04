#include "python_lines.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "nsa/trace/python_lines.hpp"

namespace nsa::trace {
namespace {

using Place = std::tuple<NameId, std::uint32_t, NameId>;  // file, line, function

Place place_of(const PythonFrame& frame) { return {frame.file, frame.line, frame.function}; }

std::string_view last_parts(std::string_view path) {
  std::size_t slash = path.rfind('/');
  if (slash != path.npos && slash > 0) slash = path.rfind('/', slash - 1);
  return slash == path.npos ? path : path.substr(slash + 1);
}

}  // namespace

bool is_library_file(std::string_view path) {
  static constexpr std::array<std::string_view, 3> kPlaces{"site-packages/", "dist-packages/",
                                                           "/lib/python3"};
  return path.starts_with("<frozen ") ||
         std::any_of(kPlaces.begin(), kPlaces.end(),
                     [&](std::string_view place) { return path.find(place) != path.npos; });
}

std::uint32_t own_frame(const Trace& trace, std::uint32_t frame) {
  std::uint32_t own = frame;
  while (own != 0 && is_library_file(trace.names.text(trace.python_frames[own].file)))
    own = trace.python_frames[own].caller;
  return own == 0 ? frame : own;
}

std::string line_text(std::string_view file, std::int64_t line, std::string_view function) {
  std::string text(last_parts(file));
  text += ':' + std::to_string(line);
  if (!function.empty()) text.append(" (").append(function).append(1, ')');
  return text;
}

std::string frame_text(const Trace& trace, std::uint32_t frame) {
  const PythonFrame& f = trace.python_frames[frame];
  return line_text(trace.names.text(f.file), f.line, trace.names.text(f.function));
}

/// One thread of a process is looked at, once at a time; what a file says beyond the next look is
/// left out.
PythonLines::PythonLines(const Trace& trace) : trace_(trace) {
  for (const PythonSample& sample : trace.python_samples) {
    if (of_process_.size() <= sample.process) of_process_.resize(sample.process + std::size_t{1});
    std::vector<PythonSample>& samples = of_process_[sample.process];
    if (!samples.empty())
      samples.back().count = static_cast<std::uint32_t>(
          std::max<std::int64_t>(1, before(samples.back(), sample.at_ns)));
    samples.push_back(sample);
  }
}

void LineCounts::add(std::uint32_t frame, std::int64_t samples) {
  by_frame_[frame] += samples;
  samples_ += samples;
}

void LineCounts::add(const LineCounts& others) {
  for (const auto& [frame, samples] : others.by_frame_) add(frame, samples);
}

std::vector<PythonLine> LineCounts::largest(const Trace& trace, std::size_t most) const {
  struct Line {
    std::int64_t samples = 0;
    std::map<Place, std::int64_t> innermost;
  };
  std::map<Place, Line> lines;
  for (const auto& [frame, samples] : by_frame_) {
    Line& line = lines[place_of(trace.python_frames[own_frame(trace, frame)])];
    line.samples += samples;
    line.innermost[place_of(trace.python_frames[frame])] += samples;
  }
  std::vector<PythonLine> out;
  for (const auto& [place, line] : lines) {
    const auto within =
        std::max_element(line.innermost.begin(), line.innermost.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    const auto& [file, number, function] = place;
    PythonLine row{trace.names.text(file), trace.names.text(function), number, {}, line.samples};
    if (const auto& [in_file, in_number, in_function] = within->first; within->first != place)
      row.within = line_text(trace.names.text(in_file), in_number, trace.names.text(in_function));
    out.push_back(std::move(row));
  }
  std::stable_sort(out.begin(), out.end(), [](const PythonLine& a, const PythonLine& b) {
    return a.samples != b.samples ? a.samples > b.samples
                                  : std::tie(a.file, a.line) < std::tie(b.file, b.line);
  });
  if (out.size() > most) out.resize(most);
  return out;
}

}  // namespace nsa::trace
