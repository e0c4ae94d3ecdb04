// The project's YAML with other values: the text is edited where the values stand, so that
// comments, order and spelling of all else stay.
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "nsa/schemas/error.hpp"
#include "nsa/tuner/emit.hpp"
#include "nsa/tuner/yaml_text.hpp"

namespace nsa::tuner {
namespace {

/// Characters [at, at + length) become `value`.
struct Edit {
  std::size_t at = 0, length = 0;
  std::string value;
};

/// Where the text of a scalar ends that begins at `at`: a quoted one after its closing quote, a
/// plain one before a comment or the end of the line or of a flow collection.
std::size_t scalar_end(std::string_view text, std::size_t at, bool in_flow) {
  const char first = at < text.size() ? text[at] : '\n';
  if (first == '"' || first == '\'') {
    std::size_t end = at + 1;
    while (end < text.size() && text[end] != first)
      end += text[end] == '\\' && first == '"' ? 2 : 1;
    return std::min(end + 1, text.size());
  }
  std::size_t end = at;
  for (; end < text.size() && text[end] != '\n' && text[end] != '\r'; ++end) {
    if (in_flow && (text[end] == ',' || text[end] == '}')) break;
    if (text[end] == '#' && end > at && (text[end - 1] == ' ' || text[end - 1] == '\t')) break;
  }
  while (end > at && (text[end - 1] == ' ' || text[end - 1] == '\t')) --end;
  return end;
}

/// The value of `key` in a section, or a null node.
std::pair<YAML::Node, YAML::Node> find_key(const YAML::Node& section, const std::string& key) {
  for (const auto& item : section) {
    if (item.first.IsScalar() && item.first.Scalar() == key) return {item.first, item.second};
  }
  return {};
}

class Patch {
 public:
  Patch(std::string_view text, const std::string& where)
      : text_(text), where_(where), root_(read(text, where)) {
    if (root_.IsDefined() && !root_.IsNull() && !root_.IsMap())
      refuse_line(where, line_of(root_),
                  "expected sections such as 'runtime:' with keys below them");
    refuse_repeats(root_);
  }

  void set(const std::string& section_name, const std::string& key, const std::string& value) {
    const auto [name, section] = find_key(root_, section_name);
    if (!name.IsDefined() || name.IsNull())
      return missing_[section_name].push_back(key + ": " + value);
    // "null" and "~" make room for the keys; what has a tag or an anchor stays as it is.
    const bool no_keys = section.IsNull() && root_.Style() != YAML::EmitterStyle::Flow &&
                         std::string_view("&!").find(after(name)) == std::string_view::npos;
    if (after(name) == '*' || !(section.IsMap() || no_keys))
      refuse_line(where_, line_of(name), section_name + ": expected keys with values below it");
    if (section.IsMap()) refuse_repeats(section);
    const auto [own, old] =
        section.IsMap() ? find_key(section, key) : std::pair<YAML::Node, YAML::Node>();
    if (own.IsDefined() && !own.IsNull()) return replace(section, own, old, value);
    insert(name, section, key + ": " + value);
  }

  std::string text() {
    std::ranges::stable_sort(edits_, {}, &Edit::at);
    std::string result(text_);
    for (auto edit = edits_.rbegin(); edit != edits_.rend(); ++edit)
      result.replace(edit->at, edit->length, edit->value);
    for (const auto& [section, lines] : missing_) {
      if (!result.empty() && !result.ends_with('\n')) result += newline();
      result += section + ":" + newline();
      for (const std::string& line : lines) result += "  " + line + newline();
    }
    return result;
  }

 private:
  /// As load_yaml(), but what "<<" merges stays where it was written: marks are places of the text.
  static YAML::Node read(std::string_view text, const std::string& where) {
    load_yaml(text, where);
    return YAML::Load(std::string(text));
  }

  /// The first character after "key:", blanks left out; the end of the text: a line break.
  char after(const YAML::Node& key) const {
    const std::size_t colon = text_.find(':', static_cast<std::size_t>(key.Mark().pos));
    const std::size_t at = text_.find_first_not_of(" \t", colon + 1);
    return at == text_.npos || text_[at] == '\r' ? '\n' : text_[at];
  }

  std::string newline() const { return text_.find("\r\n") == text_.npos ? "\n" : "\r\n"; }

  void refuse_repeats(const YAML::Node& map) const {
    if (!map.IsMap()) return;
    std::map<std::string, int> lines;
    for (const auto& item : map) {
      if (item.first.IsScalar()) add_key(lines, item.first.Scalar(), line_of(item.first), where_);
    }
  }

  void replace(const YAML::Node& section, const YAML::Node& key, const YAML::Node& old,
               const std::string& value) {
    if (!old.IsScalar() && !old.IsNull())
      refuse_line(where_, line_of(key), key.Scalar() + ": expected a single value");
    const bool in_flow = section.Style() == YAML::EmitterStyle::Flow;
    const std::size_t after_key = text_.find(':', static_cast<std::size_t>(key.Mark().pos));
    std::size_t at = text_.find_first_not_of(" \t", after_key + 1);
    if (at == text_.npos || text_[at] == '\n' || text_[at] == '\r' || text_[at] == '#')
      return edits_.push_back({after_key + 1, 0, " " + value});
    if (text_[at] == '&' || text_[at] == '*' || text_[at] == '!' || text_[at] == '|' ||
        text_[at] == '>')
      refuse_line(where_, line_of(key),
                  key.Scalar() + ": has an anchor, alias, tag or block; write the value itself");
    edits_.push_back({at, scalar_end(text_, at, in_flow) - at, value});
  }

  /// Whether something is put there already.
  bool any_at(std::size_t at) const {
    return std::ranges::find(edits_, at, &Edit::at) != edits_.end();
  }

  /// The "null" or "~" behind "key:", if it is written there.
  void leave_out_null(const YAML::Node& key) {
    if (after(key) == '\n' || after(key) == '#') return;
    const std::size_t begin = text_.find(':', static_cast<std::size_t>(key.Mark().pos)) + 1;
    const std::size_t at = text_.find_first_not_of(" \t", begin);
    if (!any_at(begin)) edits_.push_back({begin, scalar_end(text_, at, false) - begin, ""});
  }

  /// A new first key of a section, so that it stands where the section's own keys are indented.
  void insert(const YAML::Node& name, const YAML::Node& section, const std::string& line) {
    const bool empty = !section.IsMap() || section.size() == 0;
    if (section.IsMap() && section.Style() == YAML::EmitterStyle::Flow) {
      const std::size_t open = text_.find('{', static_cast<std::size_t>(name.Mark().pos));
      if (empty) return edits_.push_back({open + 1, 0, (any_at(open + 1) ? ", " : "") + line});
      return edits_.push_back({open + 1, 0, line + ", "});
    }
    std::string indent = std::string(static_cast<std::size_t>(name.Mark().column) + 2, ' ');
    if (!empty) indent.assign(static_cast<std::size_t>(section.begin()->first.Mark().column), ' ');
    if (section.IsNull()) leave_out_null(name);
    const std::size_t end = text_.find('\n', static_cast<std::size_t>(name.Mark().pos));
    if (end == text_.npos)
      return edits_.push_back(
          {text_.size(), 0, (any_at(text_.size()) ? "" : newline()) + indent + line + newline()});
    edits_.push_back({end + 1, 0, indent + line + newline()});
  }

  std::string_view text_;
  const std::string& where_;
  YAML::Node root_;
  std::vector<Edit> edits_;
  std::map<std::string, std::vector<std::string>> missing_;
};

}  // namespace

std::string patched_yaml(const Project& project, const Emission& emission, std::string_view text,
                         const std::string& where, std::vector<std::string>& left_out) {
  // The library takes a byte order mark off before it counts characters.
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  const std::string_view mark = text.starts_with(kByteOrderMark) ? kByteOrderMark : "";
  Patch patch(text.substr(mark.size()), where);
  for (const auto& [name, value] : emission.values) {
    const auto key = std::ranges::find(project.keys, name, &ProjectKey::variable);
    if (key == project.keys.end()) {
      left_out.push_back(name + "=" + value);
      continue;
    }
    const std::size_t dot = key->key.find('.');
    patch.set(std::string(key->key.substr(0, dot)), std::string(key->key.substr(dot + 1)),
              !key->boolean  ? value
              : value == "1" ? "true"
                             : "false");
  }
  std::string patched = std::string(mark) + patch.text();
  load_yaml(patched, where);  // a patch that breaks the text is a defect, not a file
  return patched;
}

}  // namespace nsa::tuner
