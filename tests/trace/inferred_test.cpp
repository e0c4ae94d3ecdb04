// Stages of NSA that nobody named, from the order of operators.
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "../cli/program.hpp"
#include "catch.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/trace/diff.hpp"
#include "nsa/trace/step_parts.hpp"
#include "operators.hpp"

namespace nsa::test {
namespace {

std::string all_of(const std::vector<Piece>& pieces) {
  std::string out;
  for (const Piece& piece : pieces) out += std::string(piece.operators) + " ";
  return out;
}

std::int64_t words(const std::string& text) {
  std::istringstream in(text);
  return std::distance(std::istream_iterator<std::string>(in), {});
}

/// The time of each stage in so many layers.
Times expected(int layers) {
  Times out;
  for (const Piece& piece : layer())
    if (*piece.stage != '\0') out[piece.stage] += layers * words(piece.operators) * 1000;
  return out;
}

std::optional<std::int64_t> named(const trace::Summary& s, const std::string& stage) {
  for (const trace::StageRow& row : s.stages.value())
    if (row.stage == stage && !row.inferred()) return row.total_ns;
  return {};
}

/// The layer without the operator of this name that stands at this place among them.
std::string without(const std::string& name, int which) {
  std::istringstream in(all_of(layer()));
  std::string out;
  for (std::string word; in >> word;)
    if (word.substr(0, word.find('(')) != name || which-- != 0) out += word + " ";
  return out;
}

}  // namespace

TEST_CASE("stages that nobody named are known by the order of operators", "[trace]") {
  const std::string once = all_of(layer());
  Operators ops;
  const auto s = ops.run("embedding " + once + once + "linear log_softmax").t.summary();
  CHECK(inferred(s) == expected(2));
  CHECK(s.unattributed_ns == 0);
  std::int64_t stages = 0;
  for (const auto& [stage, ns] : expected(2)) stages += ns;
  CHECK(named(s, "forward") == s.gpu->op_sum_ns - stages);
  for (const trace::StageRow& row : *s.stages) {
    CAPTURE(row.stage);
    CHECK((row.parent == "score") ==
          (row.stage == "pcmp" || row.stage == "pslc" || row.stage == "topk"));
    if (row.inferred()) CHECK(row.backward_ns == 0);
  }
}

TEST_CASE("nothing is inferred where a part of the selection is missing", "[trace]") {
  using Mark = std::pair<const char*, int>;
  for (const auto& [name, which] : {Mark{"avg_pool2d", 0}, Mark{"avg_pool2d", 1}, Mark{"einsum", 0},
                                    Mark{"softmax", 0}, Mark{"scatter_add", 0}, Mark{"topk", 0}}) {
    CAPTURE(name, which);
    CHECK(inferred(Operators().run(without(name, which)).t.summary()).empty());
  }
  for (const char* between : {"linear", "topk", "scaled_dot_product_attention", "softmax"}) {
    CAPTURE(between);
    std::string ops = all_of(layer());
    const auto at = ops.find("masked_fill");  // between the mapping and topk
    ops.insert(at, std::string(between) + " ");
    CHECK(inferred(Operators().run(ops).t.summary()).empty());
  }
}

TEST_CASE("a stage without its own marks stays in the forward pass", "[trace]") {
  const auto lost = [](const std::string& ops) {
    Times of = expected(1);
    for (const auto& [stage, ns] : inferred(Operators().run(ops).t.summary())) of.erase(stage);
    std::vector<std::string> out;
    for (const auto& [stage, ns] : of) out.push_back(stage);
    return out;
  };
  using Stages = std::vector<std::string>;
  CHECK(lost(all_of(layer())) == Stages{});
  CHECK(lost(without("scatter_add_", 1)) == Stages{"attend_selected", "attend_window"});
  CHECK(lost(without("ge", 1)) == Stages{"attend_window"});  // of the window's two comparisons
  CHECK(lost(without("linear", 0)) == Stages{"project_rope"});
  CHECK(lost(without("linear(addmm)", 0)) == Stages{});  // no such name
  CHECK(lost(without("mean", 1)) == Stages{"gate_combine", "out_proj"});
  CHECK(lost(without("index_put_", 0)) == Stages{});  // another one is left
}

TEST_CASE("autograd's backward pass of an inferred operator is of its stage", "[trace]") {
  Operators ops;
  for (const Piece& piece : layer()) {
    if (piece.stage == std::string("attend_selected")) ops.hold_number();
    ops.run(piece.operators);
  }
  const int first = 100;
  int before_selected = -1;
  for (const Piece& piece : layer()) {
    if (piece.stage == std::string("attend_selected")) break;
    before_selected += static_cast<int>(words(piece.operators));
  }
  ops.backward(first);                        // a norm
  ops.backward(first + before_selected);      // a number that two operators have
  ops.backward(first + before_selected + 1);  // the next
  ops.backward(first + 4);                    // the first projection
  ops.backward(99999);                        // of an operator that was not recorded
  const auto s = ops.t.summary();
  Times want = expected(1);
  want["attend_selected"] += 2000;
  want["project_rope"] += 1000;
  CHECK(inferred(s) == want);
  CHECK(named(s, "backward") == 2000);
  for (const trace::StageRow& row : *s.stages) {
    if (row.stage == "attend_selected") CHECK(row.backward_ns == 2000);
    if (row.stage == "project_rope") CHECK(row.backward_ns == 1000);
    if (row.stage == "topk") CHECK(row.backward_ns == 0);
    if (row.stage == "backward") CHECK_FALSE(row.backward_ns.has_value());
  }
}

TEST_CASE("a number of autograd that two threads count is of no stage", "[trace]") {
  Operators ops;
  ops.run(all_of(layer()));
  ops.backward(104);
  CHECK_FALSE(named(ops.t.summary(), "backward").has_value());
  ops.t.op("aten::mul", ops.now() + 10, 1, R"("Fwd thread id": 0, "Sequence number": 104)", 3);
  CHECK(named(ops.t.summary(), "backward") == 1000);
}

TEST_CASE("a layer that checkpointing computes again is of its stages, in the backward pass",
          "[trace]") {
  Operators ops;
  const double begin = ops.now();
  ops.run(all_of(layer()), 2);
  ops.t.op("autograd::engine::evaluate_function: CheckpointFunctionBackward", begin, ops.now(),
           R"("Fwd thread id": 1, "Sequence number": 7)", 2);
  const auto s = ops.t.summary();
  CHECK(inferred(s) == expected(1));
  for (const trace::StageRow& row : *s.stages)
    if (row.inferred()) CHECK(row.backward_ns == row.total_ns);
}

TEST_CASE("what names a stage counts more than the order of operators, and stands apart",
          "[trace]") {
  Operators ops;
  for (const Piece& piece : layer()) {
    const double begin = ops.now();
    ops.run(piece.operators);
    if (piece.stage == std::string("pcmp")) ops.t.range("pcmp_all", begin, ops.now() - begin - 1);
  }
  const auto s = ops.t.summary();
  Times want = expected(1);
  CHECK(named(s, "pcmp") == want["pcmp"]);
  want.erase("pcmp");
  CHECK(inferred(s) == want);

  Operators open;  // map_pcmp_to_pslc, which that implementation never closes
  for (const Piece& piece : layer()) {
    if (piece.stage == std::string("pslc"))
      open.t.raw(R"({"ph":"B","cat":"nvtx","name":"map_pcmp_to_pslc","pid":5,"tid":1,"ts":)" +
                 std::to_string(open.now()) + "}");
    const double begin = open.now();
    open.run(piece.operators);
    if (piece.stage == std::string("topk"))
      open.t.range("topk+ranges", begin, open.now() - begin - 1);
  }
  const auto leaked = open.t.summary();
  Times rest = expected(1);
  CHECK(named(leaked, "pslc") == rest["pslc"]);
  CHECK(named(leaked, "topk+ranges") == rest["topk"]);
  rest.erase("pslc");
  rest.erase("topk");
  CHECK(inferred(leaked) == rest);
}

TEST_CASE("annotations around a layer do not hide its stages", "[trace]") {
  Operators ops;
  ops.run(all_of(layer()));
  ops.t.range("DistributedDataParallel.forward", 0, ops.now());
  CHECK(inferred(ops.t.summary()) == expected(1));
  ops.t.range("my model", 0, ops.now());
  CHECK(inferred(ops.t.summary()) == expected(1));
}

TEST_CASE("an inferred stage is marked in waits, steps and comparisons", "[trace]") {
  Operators ops;
  const double begin = ops.now();
  ops.run(all_of(layer()));
  ops.t.range("ProfilerStep#1", begin, ops.now());
  for (const Piece& piece : layer()) {
    const double at = ops.now();
    ops.run(piece.operators);
    if (piece.stage == std::string("topk")) ops.t.call("cudaStreamSynchronize", 9999, at + 3, 1);
  }
  const auto trace = ops.t.read();
  const auto s = trace::summarize(trace);
  REQUIRE(s.host_syncs->size() == 1);
  CHECK(s.host_syncs->front().stage == "topk");
  CHECK(s.host_syncs->front().stage_inferred);
  const auto marked = [](const auto& rows, auto name) {
    std::set<std::string> names;
    for (const auto& row : rows) names.insert(row.*name);
    return names.count("topk (inferred)") == 1 && names.count("topk") == 0;
  };
  const std::vector<trace::StepParts> steps = trace::step_parts(trace);
  REQUIRE(steps.size() == 1);
  CHECK(marked(steps.front().stages, &trace::StagePart::stage));
  std::vector<trace::Trace> a, b;
  a.push_back(ops.t.read());
  b.push_back(ops.t.read());
  CHECK(marked(trace::diff_traces(a, b, .02).stages, &trace::DiffRow::name));
}

TEST_CASE("text and JSON say what is inferred, and nothing of it where nothing is", "[trace]") {
  const Folder folder;
  Operators ops;
  ops.run(all_of(layer())).backward(104);
  folder.write("nsa.json", ops.t.text());
  folder.write("gpt.json", Operators().run("linear scaled_dot_product_attention linear").t.text());
  const std::string nsa = nsatune(folder, "trace summary nsa.json").out;
  for (const char* part : {"score/topk (inferred)", "in backward", "by the order of operators"}) {
    CAPTURE(part);
    CHECK(nsa.find(part) != std::string::npos);
  }
  const Result gpt = nsatune(folder, "trace summary gpt.json");
  CHECK(gpt.out.find("Stages") != std::string::npos);
  CHECK(gpt.out.find("inferred") == std::string::npos);
  CHECK(gpt.out.find("in backward") == std::string::npos);
  const Json document = json_of(nsatune(folder, "trace summary nsa.json --json"), "trace_summary");
  std::int64_t backward_ns = 0;
  for (const Json& row : document["stages"]) {
    CHECK(row["inferred"] == !row["backward_ns"].is_null());
    if (row["inferred"] == true) backward_ns += row["backward_ns"].get<std::int64_t>();
  }
  CHECK(backward_ns == 1000);
}

}  // namespace nsa::test
