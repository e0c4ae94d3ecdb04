// What is no NSA has no stages of it.
#include <cstdlib>
#include <filesystem>

#include "catch.hpp"
#include "operators.hpp"

namespace nsa::test {

TEST_CASE("no stage of NSA is inferred in other models", "[trace]") {
  const auto repeat = [](const std::string& layer, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += layer + " ";
    return out;
  };
  const std::string attend =
      "layer_norm linear(addmm) split view transpose scaled_dot_product_attention transpose "
      "reshape linear add ";
  const std::string mlp = "layer_norm linear gelu linear add ";
  const std::string route =
      "softmax(_softmax) topk sum div to one_hot permute scatter_ cumsum sort index_put_ where "
      "index linear silu linear mul index_add ";
  const std::map<std::string, std::string> models{
      {"a GPT that samples", "embedding arange embedding add " + repeat(attend + mlp, 4) +
                                 "layer_norm linear topk lt masked_fill softmax multinomial cat"},
      {"a GPT with attention of products",
       repeat(
           "layer_norm linear split matmul div tril masked_fill softmax matmul linear add " + mlp,
           4)},
      {"a mixture of experts", repeat(attend + "layer_norm linear " + route + "add ", 4)},
      {"a mixture of experts whose router is a product",
       repeat(attend + "rms_norm matmul " + route + "add ", 4)},
      {"a mixture of experts that pools its inputs",
       repeat("linear avg_pool1d avg_pool1d matmul softmax scatter_add topk index linear silu "
              "linear scaled_dot_product_attention ",
              4)},
      {"a vision model and its accuracy",
       "conv2d batch_norm relu avg_pool2d conv2d relu avg_pool2d adaptive_avg_pool2d flatten "
       "linear "
       "log_softmax nll_loss topk t eq view expand_as eq sum mul "},
      {"a vision transformer with pooled keys, and its accuracy",
       repeat("layer_norm linear avg_pool2d avg_pool2d bmm softmax bmm linear add " + mlp, 3) +
           "mean linear log_softmax nll_loss topk eq sum"},
      {"a vision transformer that drops tokens",
       repeat("linear avg_pool2d avg_pool2d matmul softmax matmul mean topk gather "
              "scaled_dot_product_attention linear ",
              3)},
      {"attention to blocks of pooled keys",
       repeat("linear linear linear avg_pool1d einsum masked_fill topk scatter_ where "
              "scaled_dot_product_attention linear ",
              3)},
      {"a cache that keeps the best keys",
       repeat("linear linear linear matmul softmax sum avg_pool1d topk gather cat "
              "scaled_dot_product_attention linear ",
              3)},
      {"an indexer before attention",
       repeat("linear linear bmm relu sum topk gather scaled_dot_product_attention linear ", 3)}};
  for (const auto& [model, operators] : models) {
    CAPTURE(model);
    Operators ops;
    ops.run(operators);
    for (int i = 0; i < 100; ++i) ops.backward(100 + i);
    const auto s = ops.t.summary();
    CHECK(inferred(s) == Times{});
    CHECK(s.stages->size() == 2);  // forward and backward
  }
}

TEST_CASE("of real traces only the one of NSA has inferred stages", "[trace]") {
  const char* data = std::getenv("NSATUNE_EXTERNAL_DATA");
  if (!data) {
    WARN("skipped: NSATUNE_EXTERNAL_DATA is not set");
    return;
  }
  int nsa = 0, others = 0;
  for (const auto& file : std::filesystem::directory_iterator(std::string(data) + "/traces")) {
    CAPTURE(file.path().string());
    const trace::Summary s = trace::summarize(trace::read_trace(file.path().string()));
    if (!s.stages) continue;
    std::int64_t sum = 0;
    for (const auto& [stage, ns] : inferred(s)) sum += ns;
    if (file.path().filename() != "h200_nsa_train_masked_S2048_2steps.json.gz") {
      CHECK(sum == 0);
      ++others;
      continue;
    }
    ++nsa;
    CHECK(sum > s.sums->op_sum_ns * 85 / 100);
    CHECK(inferred(s).size() == 10);
    CHECK(inferred(s)["topk"] > s.sums->op_sum_ns / 3);  // with unique_consecutive
    CHECK(s.unattributed_ns == 0);
  }
  CHECK(nsa == 1);
  CHECK(others > 2);
}

}  // namespace nsa::test
