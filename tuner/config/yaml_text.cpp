#include "nsa/tuner/yaml_text.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <sstream>

#include "nsa/schemas/error.hpp"

namespace nsa::tuner {
namespace {

constexpr std::size_t kMaxBytes = 1u << 20;

[[noreturn]] void refuse(const std::string& where, std::int64_t line, const std::string& what) {
  throw InputError(fmt::format("{}:{}: {}", where, line, what));
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
    if (documents == 1) refuse(where, starts.line, "a second document begins here; keep one");
}

}  // namespace

YAML::Node load_yaml(std::string_view text, const std::string& where) {
  if (text.size() > kMaxBytes)
    throw InputError(fmt::format("{}: larger than 1 MiB; that is no model config", where));
  // The library takes a NUL for the end, so what follows it would go unseen.
  if (const auto nul = text.find('\0'); nul != std::string_view::npos)
    refuse(where,
           1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(nul), '\n'),
           "has a NUL character; YAML is text");
  const std::string copy(text);
  try {
    refuse_second_document(copy, where);
    return YAML::Load(copy);
  } catch (const YAML::Exception& error) {
    refuse(where, error.mark.line + 1, "no YAML: " + error.msg);
  }
}

}  // namespace nsa::tuner
