#include "nsa/tuner/yaml_text.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/text.hpp"

namespace nsa::tuner {
namespace {

constexpr std::size_t kMaxBytes = 1u << 20;

/// Whether a line, counted from 0, begins with a tab: the library has other names for that.
bool tab_indents(const std::string& text, int line) {
  std::istringstream lines(text);
  std::string one;
  for (int i = 0; i <= line; ++i)
    if (!std::getline(lines, one)) return false;
  return one.substr(0, one.find_first_not_of(" \t")).find('\t') != one.npos;
}

/// Where the last document has its first value; everything else is of no interest.
class DocumentStarts : public YAML::EventHandler {
 public:
  int line = 0;

  void OnDocumentStart(const YAML::Mark& mark) override {
    line = mark.line + 1;
    empty_ = true;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { see(mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { see(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string&) override {
    see(mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    see(mark);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    see(mark);
  }
  void OnMapEnd() override {}

 private:
  void see(const YAML::Mark& mark) {
    if (empty_) line = mark.line + 1;
    empty_ = false;
  }

  bool empty_ = true;
};

/// The library's LoadAll never ends on a text such as ", a: 1": each time it sees a document that
/// takes nothing off the text. So no more than two are asked for.
void refuse_second_document(const std::string& text, const std::string& where) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentStarts starts;
  for (int documents = 0; parser.HandleNextDocument(starts); ++documents)
    if (documents == 1) refuse_line(where, starts.line, "a second document begins here; keep one");
}

/// Puts what "<<: *name" stands for in its place, as YAML 1.1 has it and the library does not.
class Merger {
 public:
  Merger(const std::string& where, std::size_t text_bytes)
      : where_(where), max_nodes_(std::min(kMaxNodes, 10'000 + 8 * text_bytes)) {}

  void expand(YAML::Node node, int depth) {
    count(node);
    if (depth > kMaxDepth || !(node.IsMap() || node.IsSequence())) return;
    for (const auto& item : node) {
      const YAML::Node& value = item;  // of a sequence
      expand(node.IsMap() ? item.second : value, depth + 1);
    }
    const YAML::Node merged = node.IsMap() ? std::as_const(node)["<<"] : YAML::Node();
    if (!merged.IsDefined() || merged.IsNull()) return;
    if (merged.IsSequence()) {
      for (const YAML::Node& map : merged) add(node, map);
    } else {
      add(node, merged);
    }
    node.remove("<<");
  }

 private:
  static constexpr int kMaxDepth = 16;  // no config is deeper
  static constexpr std::size_t kMaxNodes = 1'000'000;

  void count(const YAML::Node& node) {
    if (++nodes_ > max_nodes_)
      refuse_line(where_, line_of(node),
                  fmt::format("aliases stand for more than {} values; write them out", max_nodes_));
  }

  /// The keys of `map` that `node` has not: its own win, then those of the first map of a list.
  void add(YAML::Node& node, const YAML::Node& map) {
    if (!map.IsMap()) refuse_line(where_, line_of(map), "'<<' takes a map or a list of maps");
    if (map.is(node)) return;
    std::set<std::string> own;
    for (const auto& item : node) {
      count(item.first);
      if (item.first.IsScalar()) own.insert(item.first.Scalar());
    }
    for (const auto& item : map) {
      count(item.first);
      if (!item.first.IsScalar() || !own.contains(item.first.Scalar()))
        node.force_insert(item.first, item.second);
    }
  }

  const std::string& where_;
  std::size_t max_nodes_;  // an alias may stand for a tree of aliases; a short text is short work
  std::size_t nodes_ = 0;
};

}  // namespace

int line_of(const YAML::Node& node) { return node.Mark().line + 1; }

void refuse_line(const std::string& where, std::int64_t line, const std::string& what) {
  throw InputError(fmt::format("{}:{}: {}", where, line, what));
}

void add_key(std::map<std::string, int>& lines, const std::string& key, int line,
             const std::string& where) {
  const auto [at, is_new] = lines.emplace(key, line);
  if (!is_new)
    refuse_line(where, line,
                fmt::format("{} appears twice (first in line {}); keep one", key, at->second));
}

YAML::Node load_yaml(std::string_view text, const std::string& where) {
  if (text.size() > kMaxBytes)
    throw InputError(fmt::format("{}: larger than 1 MiB; that is not a model config", where));
  // The library takes a NUL for the end, so what follows it would go unseen.
  if (const auto nul = text.find('\0'); nul != std::string_view::npos)
    refuse_line(where,
                1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(nul), '\n'),
                "has a NUL character; YAML is text");
  const std::string copy(text);
  try {
    refuse_second_document(copy, where);
    YAML::Node document = YAML::Load(copy);
    // Nested aliases are only walked through where there is something to merge.
    if (copy.find("<<") != copy.npos) Merger(where, copy.size()).expand(document, 0);
    return document;
  } catch (const YAML::Exception& error) {
    const bool tab = tab_indents(copy, error.mark.line);
    refuse_line(where, error.mark.line + 1,
                "not valid YAML: " + (tab ? "a tab indents; use blanks" : visible(error.msg)));
  }
}

}  // namespace nsa::tuner
