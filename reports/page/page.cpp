#include "nsa/page/page.hpp"

#include <array>
#include <map>
#include <span>

#include "assets.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::page {
namespace {

constexpr std::array kTraceScripts{"text.js", "plots.js", "steps.js", "trace.js"};
constexpr std::array kScripts{"text.js",         "plots.js",    "history.js",        "overview.js",
                              "series.js",       "contests.js", "contest_choice.js", "roofline.js",
                              "memory.js",       "clocks.js",   "results.js",        "steps.js",
                              "environments.js", "main.js"};

std::string_view asset(std::string_view name) {
  for (const Asset& one : assets()) {
    if (one.name == name) return one.text;
  }
  throw ContractError("expected: an asset of the page");
}

/// JSON in which nothing can end its element, open another one or end a line of a script.
std::string inert(const Json& json) {
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '<' || c == '>' || c == '&') {
      safe += c == '<' ? "\\u003c" : c == '>' ? "\\u003e" : "\\u0026";
    } else if (text.compare(i, 3, "\xE2\x80\xA8") == 0 || text.compare(i, 3, "\xE2\x80\xA9") == 0) {
      safe += text[i + 2] == '\xA8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      safe += c;
    }
  }
  return safe;
}

Json specs() {
  Json list = Json::object();
  for (const Asset& one : assets()) {
    if (one.name.starts_with("specs/"))
      list[std::string(one.name.substr(6, one.name.size() - 6 - 5))] = Json::parse(one.text);
  }
  return list;
}

/// Puts the parts where the template has {{NAME}}. What is put in is not looked at again.
std::string filled(std::string_view text, const std::map<std::string_view, std::string>& parts) {
  std::string out;
  while (true) {
    const std::size_t open = text.find("{{"), close = text.find("}}", open);
    out += text.substr(0, open);
    if (open == std::string_view::npos) return out;
    out += parts.at(text.substr(open + 2, close - open - 2));
    text.remove_prefix(close + 2);
  }
}

}  // namespace

namespace {

/// The frame around a page's own body, with style, data and scripts.
std::string page_of(const char* title, const char* body, std::span<const char* const> names,
                    const Json& data, const std::string& vega) {
  std::string scripts;
  for (const char* name : names) scripts += asset(name);
  return filled(asset("frame.html"), {{"TITLE", title},
                                      {"BODY", std::string(asset(body))},
                                      {"STYLE", std::string(asset("page.css"))},
                                      {"DATA", inert(data)},
                                      {"SPECS", inert(specs())},
                                      {"VEGA", vega},
                                      {"SCRIPT", scripts}});
}

}  // namespace

std::string page_html(const Json& data, const std::string& vega) {
  return page_of("nightly history", "nightly.html", kScripts, data, vega);
}

std::string trace_page_html(const Json& data, const std::string& vega) {
  return page_of("trace", "trace.html", kTraceScripts, data, vega);
}

}  // namespace nsa::page
