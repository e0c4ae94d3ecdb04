// Lines of Python: which of a stack is the program's own, and how they are written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nsa::trace {

struct Trace;

/// A line of the program at which samples of Python's stack found the host.
struct PythonLine {
  bool operator==(const PythonLine&) const = default;
  std::string file, function;  // the innermost that is the program's own
  std::int64_t line = 0;
  std::string within;  // as text, the frame that most of them stood in, of a package; empty: itself
  std::int64_t samples = 0;
};

/// Whether a file is one of a package or of Python itself, and so not the program's own.
bool is_library_file(std::string_view path);
/// The innermost frame that is the program's own; where there is none the innermost.
std::uint32_t own_frame(const Trace& trace, std::uint32_t frame);
/// "data/train.py:31 (load)": the last two parts of the file's path.
std::string line_text(std::string_view file, std::int64_t line, std::string_view function);
/// The same of a frame.
std::string frame_text(const Trace& trace, std::uint32_t frame);

}  // namespace nsa::trace
