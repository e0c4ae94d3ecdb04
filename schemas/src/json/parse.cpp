// Text to JSON: hostile input ends here with line and column.
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>

#include "nsa/schemas/fields/json.hpp"

namespace nsa {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxKeyBytes = 256;
constexpr std::size_t kMaxKeys = 1024;         // of one object, which looks its keys up one by one
constexpr std::size_t kMaxValues = 6'000'000;  // about 64 bytes of memory each, at most

/// Reads characters and says how far it is, so that an error can name a place.
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

 private:
  const char* at_;
  const char** furthest_;
};

/// Walks over the text once and keeps no value: what may be built from it is known before memory is
/// taken. (The library's own parse callback looks through the parent at the end of each object.)
class Checker : public nlohmann::json_sax<Json> {
 public:
  Checker(std::string_view text, const std::string& where)
      : text_(text), where_(where), furthest_(text.data()) {}

  void run() {
    if (text_.size() > kMaxBytes) throw InputError(where_ + ": is larger than 64 MiB");
    if (text_.find_first_not_of(" \t\r\n") == text_.npos)
      throw InputError(where_ + ": is empty; a JSON document is expected");
    // The library takes a NUL for the end, so what follows it would go unseen.
    if (const auto nul = text_.find('\0'); nul != std::string_view::npos) {
      furthest_ = text_.data() + nul + 1;
      refuse("has a NUL character; JSON is text");
    }
    Json::sax_parse(Cursor(text_.data(), &furthest_),
                    Cursor(text_.data() + text_.size(), &furthest_), this);
  }

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool string(string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool start_array(std::size_t) override { return deeper(); }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool start_object(std::size_t) override {
    keys_.emplace_back();
    return deeper();
  }
  bool end_object() override {
    keys_.pop_back();
    --depth_;
    return true;
  }
  bool key(string_t& key) override {
    if (key.size() > kMaxKeyBytes) refuse("has a key longer than 256 bytes");
    if (keys_.back().size() >= kMaxKeys) refuse("has an object of more than 1024 keys");
    if (!keys_.back().insert(key).second) refuse("has the key " + fields::shown(key) + " twice");
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception& error) override {
    refuse(reason(error.what()));
  }

 private:
  bool value() {
    if (++values_ > kMaxValues) refuse("has more than 6 million values");
    return true;
  }
  bool deeper() {
    if (depth_++ >= kMaxDepth) refuse("is nested deeper than 64 levels");
    return value();
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
  int depth_ = 0;
  std::size_t values_ = 0;
  std::vector<std::set<std::string>> keys_;  // of the objects that are open
};

}  // namespace

Json parse_json(std::string_view text, const std::string& where) {
  Checker(text, where).run();
  return Json::parse(text.begin(), text.end());
}

}  // namespace nsa
