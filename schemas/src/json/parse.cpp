// Text to JSON: hostile input ends here with line and column.
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>

#include "fields.hpp"

namespace nsa {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxKeyBytes = 256;
constexpr std::size_t kMaxKeys = 1024;  // of one object, which looks its keys up one by one

/// Reads characters and says how far it is, so that the callback can name a
/// place.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor(const char* at, const char** furthest) : at_(at), furthest_(furthest) {}
  reference operator*() const { return *at_; }
  Cursor& operator++() {
    *furthest_ = ++at_;
    return *this;
  }
  Cursor operator++(int) {
    Cursor old = *this;
    ++*this;
    return old;
  }
  friend bool operator==(const Cursor& a, const Cursor& b) { return a.at_ == b.at_; }
  friend bool operator!=(const Cursor& a, const Cursor& b) { return a.at_ != b.at_; }

 private:
  const char* at_;
  const char** furthest_;
};

class Parser {
 public:
  Parser(std::string_view text, const std::string& where)
      : text_(text), where_(where), furthest_(text.data()) {}

  Json parse() {
    if (text_.size() > kMaxBytes) throw InputError(where_ + ": is larger than 64 MiB");
    // The library takes a NUL for the end, so what follows it would go unseen.
    if (const auto nul = text_.find('\0'); nul != std::string_view::npos) {
      furthest_ = text_.data() + nul + 1;
      refuse("has a NUL character; JSON is text");
    }
    const auto watch = [this](int depth, Json::parse_event_t event, Json& value) {
      check(depth, event, value);
      return true;
    };
    try {
      return Json::parse(Cursor(text_.data(), &furthest_),
                         Cursor(text_.data() + text_.size(), &furthest_), watch);
    } catch (const nlohmann::json::exception& error) {
      refuse(reason(error.what()));
    }
  }

 private:
  void check(int depth, Json::parse_event_t event, const Json& value) {
    using Event = Json::parse_event_t;
    if (depth >= kMaxDepth) refuse("is nested deeper than 64 levels");
    if (event == Event::object_start) keys_.emplace_back();
    if (event == Event::object_end) keys_.pop_back();
    if (event != Event::key) return;
    const auto& key = value.get_ref<const std::string&>();
    if (key.size() > kMaxKeyBytes) refuse("has a key longer than 256 bytes");
    if (keys_.back().size() >= kMaxKeys) refuse("has an object of more than 1024 keys");
    if (!keys_.back().insert(key).second) refuse("has the key " + fields::shown(key) + " twice");
  }

  [[noreturn]] void refuse(const std::string& what) const {
    const std::string_view read(text_.data(), static_cast<std::size_t>(furthest_ - text_.data()));
    const auto line = 1 + std::count(read.begin(), read.end(), '\n');
    const std::size_t line_start = read.rfind('\n') + 1;  // npos + 1 is 0
    const std::size_t column = std::max<std::size_t>(1, read.size() - line_start);
    throw InputError(where_ + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " +
                     what);
  }

  /// The library's message without its own prefix and place, on one line of
  /// bounded length.
  static std::string reason(std::string text) {
    const std::size_t start = text.find(": ");
    if (text.starts_with("[json.exception.parse_error") && start != std::string::npos)
      text.erase(0, start + 2);
    else if (const std::size_t bracket = text.find("] "); bracket != std::string::npos)
      text.erase(0, bracket + 2);
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    constexpr std::size_t kShown = 200;
    // Cut in the middle: the head says what was read, the tail what was
    // expected.
    if (text.size() > kShown) text.replace(kShown / 2, text.size() - kShown, " ... ");
    return text + "; correct the JSON";
  }

  std::string_view text_;
  const std::string& where_;
  const char* furthest_;
  std::vector<std::set<std::string>> keys_;
};

}  // namespace

Json parse_json(std::string_view text, const std::string& where) {
  return Parser(text, where).parse();
}

}  // namespace nsa
