#include "window.hpp"

#include <algorithm>
#include <cstring>

#include "nsa/schemas/error.hpp"
#include "scan.hpp"

namespace nsa::trace {
namespace {

constexpr std::size_t kMostOfOneValue = std::size_t{256} << 20;

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace

JsonWindow::JsonWindow(ByteSource& source, std::string where, std::size_t padding,
                       std::size_t capacity)
    : source_(source),
      where_(std::move(where)),
      padding_(padding),
      buffer_(capacity + padding),
      offset_(std::uint64_t{0} - 1) {}

bool JsonWindow::refill() {
  if (begin_ > 1) {
    std::memmove(buffer_.data() + 1, buffer_.data() + begin_, end_ - begin_);
    offset_ += begin_ - 1;
    end_ -= begin_ - 1;
    begin_ = 1;
  }
  if (end_ + padding_ == buffer_.size()) {
    if (buffer_.size() > kMostOfOneValue)
      fail(offset(), "a value of more than 256 MiB; no trace has one");
    buffer_.resize(2 * buffer_.size());
  }
  const std::size_t count = source_.read(buffer_.data() + end_, buffer_.size() - padding_ - end_);
  end_ += count;
  return count > 0;
}

void JsonWindow::skip_blanks() {
  for (;;) {
    while (begin_ < end_ && is_blank(buffer_[begin_])) ++begin_;
    if (begin_ < end_ || !refill()) return;
  }
}

char JsonWindow::peek() {
  skip_blanks();
  return begin_ < end_ ? buffer_[begin_] : '\0';
}

void JsonWindow::skip_byte_order_mark() {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  while (end_ - begin_ < kMark.size() && refill()) {
  }
  if (std::string_view(buffer_.data() + begin_, end_ - begin_).starts_with(kMark))
    begin_ += kMark.size();
}

bool JsonWindow::at_end() {
  skip_blanks();
  return begin_ == end_;
}

void JsonWindow::expect(char wanted) {
  skip_blanks();
  if (begin_ == end_) fail_cut();
  if (buffer_[begin_] != wanted)
    fail(offset(), std::string("expected '") + wanted + "'; this is not JSON");
  ++begin_;
}

JsonWindow::Scan JsonWindow::scan(bool many) const {
  const ValueScan found = scan_values({buffer_.data() + begin_, end_ - begin_}, many);
  if (found.too_deep)
    fail(offset() + found.deep_at - 1,
         "nested more than " + std::to_string(kMaxJsonDepth) + " deep; no trace is");
  return {begin_ + found.end, found.whole, found.closed};
}

std::string_view JsonWindow::string() {
  if (peek() != '"') fail(offset(), "expected a string; this is not JSON");
  for (;;) {
    const std::size_t length = scan_string({buffer_.data() + begin_, end_ - begin_});
    if (length > 0) {
      begin_ += length;
      return {buffer_.data() + begin_ - length + 1, length - 2};
    }
    if (!refill()) fail_cut();
  }
}

std::string_view JsonWindow::value() {
  if (peek() == '\0') fail_cut();
  for (;;) {
    const Scan found = scan(false);
    if (found.whole) {
      const std::string_view text(buffer_.data() + begin_, found.end - begin_);
      begin_ = found.end;
      return text;
    }
    if (found.closed) fail(offset(), "expected a value; this is not JSON");
    if (!refill()) fail_cut();
  }
}

/// Gives back what hand_out() wrote over and steps over it. False at the end of the array, after
/// it.
bool JsonWindow::at_element() {
  if (in_array_) {
    buffer_[begin_] = behind_;
    in_array_ = false;
    ++begin_;
    if (behind_ == ']') return false;
    if (behind_ != ',') fail(offset() - 1, std::string("unexpected '") + behind_ + "'");
  } else if (peek() == ']') {
    ++begin_;
    return false;
  }
  if (peek() == '\0') fail_cut();
  return true;
}

std::string_view JsonWindow::hand_out(std::size_t end) {
  behind_ = buffer_[end];
  in_array_ = true;
  buffer_[begin_ - 1] = '[';
  buffer_[end] = ']';
  const std::string_view text(buffer_.data() + begin_ - 1, end + 2 - begin_);
  handed_out_ = begin_;
  begin_ = end;
  return text;
}

std::string_view JsonWindow::whole_elements() {
  Scan found = scan(true);
  while (!found.whole) {
    if (found.closed) fail(offset(), "unexpected bracket");
    if (!refill()) fail_cut();
    found = scan(true);
  }
  return hand_out(found.end);
}

std::string_view JsonWindow::elements() {
  if (!at_element()) return {};
  const auto comma = [&] { return last_object_end({buffer_.data() + begin_, end_ - begin_}); };
  std::size_t end = comma();
  if (end == 0 && refill()) end = comma();
  return end == 0 ? whole_elements() : hand_out(begin_ + end);
}

std::string_view JsonWindow::elements_again() {
  buffer_[begin_] = behind_;
  in_array_ = false;
  begin_ = handed_out_;
  return whole_elements();
}

std::uint64_t JsonWindow::offset_of(const char* at) const {
  return offset_ + static_cast<std::uint64_t>(at - buffer_.data());
}

void JsonWindow::fail(std::uint64_t offset, const std::string& what) const {
  throw InputError(where_ + ": byte " + std::to_string(offset) + ": " + what);
}

void JsonWindow::fail_cut() const { fail(offset_ + end_, "the JSON ends too early (cut off)"); }

}  // namespace nsa::trace
