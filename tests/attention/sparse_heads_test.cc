// Methods that read a prompt sparsely as a part of another method. They attend only the KV heads
// that they are given (LayerStep::only).

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "attention/method_run.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using testing_support::MethodRun;
using testing_support::small_shape;
using testing_support::TempFolder;

constexpr int64_t kPromptTokens = 701;

/// Outputs of a method on two layers of three KV heads: one pass and some generated tokens.
std::vector<std::vector<float>> outputs(const std::string& text) {
  const ModelShape shape = small_shape(2, 3, 2, 32);
  const auto method = MethodSpec::parse(text).make(shape);
  MethodRun run(shape, *method, DType::F32, kPromptTokens + 4);
  run.prompt(kPromptTokens, 1000);
  run.decode(4);
  return run.out;
}

class SparseHeads : public ::testing::TestWithParam<const char*> {};

TEST_P(SparseHeads, RetrievalHeadsReadThePromptByTheMethodAndTheOthersStream) {
  const TempFolder folder;
  // The first layer keeps everything in the middle head, the second layer in the two others.
  const std::string gates = folder.write("gates.tsv", "0 1 0\n1 0 1\n").string();
  const bool full[2][3] = {{false, true, false}, {true, false, true}};
  const std::string options = GetParam(), name = options.substr(0, options.find(':'));
  std::string parts = options.substr(name.size() + 1);
  const auto alone = outputs(options);
  std::replace(parts.begin(), parts.end(), ',', '+');
  const std::string duo =
      "duo:gates=" + gates + ",threshold=0.5,sink=3,recent=40,prefill_mode=strict_streaming";
  const auto streamed = outputs(duo);
  const auto both = outputs(duo + ",dense=" + name + ",dense_options=" + parts);
  for (size_t layer = 0; layer < 2; ++layer) {
    size_t differ = 0;
    for (size_t i = 0; i < both[layer].size(); ++i) {
      const size_t kv_head = i / 32 % 6 / 2;
      const auto& want = full[layer][kv_head] ? alone[layer] : streamed[layer];
      // Heads that are attended together are summed in another order.
      ASSERT_NEAR(both[layer][i], want[i], 2e-6) << "layer " << layer << " KV head " << kv_head;
      differ += std::abs(alone[layer][i] - streamed[layer][i]) > 1e-4f;
    }
    EXPECT_GT(differ, both[layer].size() / 4);  // ensures that the comparison is meaningful
  }
}

INSTANTIATE_TEST_SUITE_P(
    Registry, SparseHeads,
    ::testing::Values("minference:dense_below=0,vertical=37,slash=102",
                      "minference:dense_below=0,pattern=blocks,vertical=3",
                      "minference:dense_below=0,pattern=a_shape,vertical=3,slash=60",
                      "minference:patterns=search,search_at=600,dense_below=0",
                      "flexprefill:dense_below=0,min_budget=128,gamma=0.4",
                      "flexprefill:dense_below=128,min_budget=128,gamma=0.3,tau=1",
                      "xattention:dense_below=0,tau=0.5"));

}  // namespace
}  // namespace longhaul
