// YAML as flat keys: "runtime.use_flash" -> text and line.
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "evidence.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/text.hpp"
#include "nsa/tuner/yaml_text.hpp"

namespace nsa::cli {
namespace {

constexpr int kMaxNodes = 100'000;  // an alias may stand for a tree of aliases
constexpr int kMaxDepth = 16;

[[noreturn]] void refuse(const std::string& file, int line, const std::string& what) {
  throw InputError(fmt::format("{}:{}: {}", doctor::clean(file), line, doctor::clean(what)));
}

class Flattener {
 public:
  Flattener(doctor::ConfigEvidence& out, const std::string& file) : out_(out), file_(file) {}

  void take(const YAML::Node& node, const std::string& prefix, int depth) {
    if (++nodes_ > kMaxNodes || depth > kMaxDepth)
      refuse(file_, node.Mark().line + 1, "too many or too deep keys for a training config");
    if (node.IsScalar() && !prefix.empty()) {
      out_.keys[prefix] = {doctor::clean(node.Scalar()), node.Mark().line + 1};
    } else if (node.IsMap()) {
      for (const auto& item : node) {
        if (!item.first.IsScalar())
          refuse(file_, item.first.Mark().line + 1, "a key is a single value");
        const std::string name = doctor::clean(item.first.Scalar(), 100);
        take(item.second, prefix.empty() ? name : prefix + "." + name, depth + 1);
      }
    }
  }

 private:
  doctor::ConfigEvidence& out_;
  const std::string& file_;
  int nodes_ = 0;
};

}  // namespace

doctor::ConfigEvidence read_config(std::string_view text, const std::string& file) {
  doctor::ConfigEvidence config;
  config.file = doctor::clean(file);
  try {
    const YAML::Node document = tuner::load_yaml(text, config.file);
    if (!document.IsMap())
      refuse(file, 1, "expected sections such as 'model:' with keys below them");
    Flattener(config, file).take(document, "", 0);
  } catch (const YAML::Exception& error) {
    refuse(file, error.mark.line + 1, "not valid YAML: " + visible(error.msg));
  }
  return config;
}

}  // namespace nsa::cli
