#include "nsa/page/page.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "nsa/schemas/error.hpp"

namespace nsa::page {
namespace {

/// The name that other modules require, and the file where that is another one.
struct Module {
  std::string_view name;
  std::string_view file = name;
};

/// Each after those that it requires. The package has no bundle, and no map plot is made here.
constexpr std::array kModules{
    Module{"vega-util"},           Module{"vega-time"},
    Module{"vega-format"},         Module{"vega-loader"},
    Module{"vega-statistics"},     Module{"vega-expression"},
    Module{"vega-event-selector"}, Module{"vega-canvas"},
    Module{"vega-dataflow"},       Module{"vega-scale"},
    Module{"vega-scenegraph"},     Module{"vega-selections", "vega-selection"},
    Module{"vega-functions"},      Module{"vega-parser"},
    Module{"vega-runtime"},        Module{"vega-view"},
    Module{"vega-transforms"},     Module{"vega-view-transforms"},
    Module{"vega-encode"},         Module{"vega-interpreter"}};

std::string module_text(const std::string& folder, const Module& module) {
  const auto path = std::filesystem::path(folder) / fmt::format("{}.min.js", module.file);
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in || text.empty())
    throw EnvironmentError(path.string() +
                           ": cannot be read; install libjs-vega (apt-get install libjs-vega) or "
                           "name its folder with --vega");
  return text;
}

}  // namespace

std::string vega_script(const std::string& folder) {
  // Each module is a function of `exports` and `require`, as in Node.js.
  std::string script = "const vega = (() => {\nconst found = {}, require = name => found[name];\n";
  for (const Module& module : kModules)
    script += fmt::format("((exports, module) => {{\n{}\n}})(found['{}'] = {{}}, {{}});\n",
                          module_text(folder, module), module.name);
  return script +
         "Object.assign(require('vega-dataflow').transforms, require('vega-transforms'),\n"
         "  require('vega-view-transforms'), require('vega-encode'));\n"
         "return {parse: require('vega-parser').parse, View: require('vega-view').View,\n"
         "  expressionInterpreter: require('vega-interpreter').expressionInterpreter};\n"
         "})();\n";
}

}  // namespace nsa::page
