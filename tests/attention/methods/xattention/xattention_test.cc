#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

#include "attention/methods/xattention/head_thresholds.h"
#include "attention/sparse_oracle.h"
#include "base/error.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using namespace testing_support;

/// docs/methods/xattention.md in plain loops: scores of the key blocks of a row block, from its
/// whole groups.
std::vector<double> scores_by_definition(const ModelShape& shape, const SparseOracle& oracle,
                                         int head, int64_t block, int64_t tokens, int stride,
                                         double norm = 1) {
  std::vector<double> scores(static_cast<size_t>(block + 1));
  for (int64_t g = block * 128 / stride; g < (block + 1) * 128 / stride; ++g) {
    if ((g + 1) * stride > tokens) break;
    std::vector<double> logits;
    for (int64_t b = 0; b <= g; ++b) {
      double sum = 0;  // sum over the antidiagonal of a stride x stride square
      for (int r = 0; r < stride; ++r) {
        sum += oracle.dot(head, g * stride + stride - 1 - r, b * stride + r);
      }
      logits.push_back(sum * shape.scale / (stride * norm));
    }
    logits = softmax_by_definition(logits);
    for (size_t b = 0; b < logits.size(); ++b) {
      scores[b * static_cast<size_t>(stride) / 128] += logits[b];
    }
  }
  return scores;
}

std::set<int64_t> chosen_by_definition(const std::vector<double>& scores, double tau) {
  const int64_t last = static_cast<int64_t>(scores.size()) - 1;
  const double total = std::accumulate(scores.begin(), scores.end(), 0.0);
  std::set<int64_t> chosen = {0, last};
  if (total == 0) {  // without a whole group: all blocks
    for (int64_t b = 0; b <= last; ++b) chosen.insert(b);
  }
  double sum = 0;
  for (const int64_t b : chosen) sum += scores[static_cast<size_t>(b)];
  while (chosen.size() < scores.size() && sum < tau * total) {
    int64_t best = -1;
    for (int64_t b = 0; b <= last; ++b) {
      if (chosen.count(b) > 0) continue;
      if (best < 0 || scores[static_cast<size_t>(b)] > scores[static_cast<size_t>(best)]) best = b;
    }
    sum += scores[static_cast<size_t>(best)];
    chosen.insert(best);
  }
  return chosen;
}

using Chosen = std::map<std::pair<int, int64_t>, std::set<int64_t>>;  // by head and row block

Chosen all_chosen(const ModelShape& shape, const SparseOracle& oracle, int64_t tokens, int stride,
                  double tau, double norm = 1) {
  Chosen chosen;
  for (int head = 0; head < shape.heads; ++head) {
    for (int64_t block = 0; block * 128 < tokens; ++block) {
      chosen[{head, block}] = chosen_by_definition(
          scores_by_definition(shape, oracle, head, block, tokens, stride, norm), tau);
    }
  }
  return chosen;
}

TEST(XAttention, BlocksAreChosenByTheirAntidiagonalsWhateverThePasses) {
  for (const int group : {1, 2, 3, 8}) {
    for (const int chunk : {128, 400, 1000}) {
      const ModelShape shape = small_shape(1, group == 3 ? 2 : 1, group, 32);
      const auto method = make("xattention:dense_below=0,tau=0.6", shape);
      MethodRun run(shape, *method, DType::F32, 776);
      run.prompt(773, chunk);
      run.decode(3);
      const SparseOracle oracle(run, 0);
      const Chosen chosen = all_chosen(shape, oracle, 773, 8, 0.6);
      oracle.expect(run, 0, [&](int head, int64_t i, int64_t j) {
        return i >= 773 || chosen.at({head, i / 128}).count(j / 128) > 0;
      });
      EXPECT_LT(run.record.pairs, run.record.dense_pairs * 9 / 10);
    }
  }
}

TEST(XAttention, EveryStride) {
  for (const int stride : {1, 2, 4, 16, 32}) {
    const ModelShape shape = small_shape(1, 1, 2, 32);
    const auto method =
        make(fmt::format("xattention:dense_below=0,tau=0.5,norm=0.7,stride={}", stride), shape);
    MethodRun run(shape, *method, DType::F32, 650);
    run.prompt(650, 650);
    const SparseOracle oracle(run, 0);
    const Chosen chosen = all_chosen(shape, oracle, 650, stride, 0.5, 0.7);
    oracle.expect(run, 0, [&](int head, int64_t i, int64_t j) {
      return chosen.at({head, i / 128}).count(j / 128) > 0;
    });
  }
}

/// Chooses blocks by the attention from their rows in dense attention.
TEST(XAttention, AStrideOfOneChoosesByTheExactMass) {
  const ModelShape shape = small_shape(1, 1, 2, 32);
  const auto method = make("xattention:dense_below=0,tau=0.5,stride=1", shape);
  MethodRun run(shape, *method, DType::F32, 650);
  run.prompt(650, 650);
  const SparseOracle oracle(run, 0);
  Chosen chosen;
  size_t left_out = 0;
  for (int head = 0; head < 2; ++head) {
    for (int64_t block = 0; block < 6; ++block) {
      std::vector<double> mass(static_cast<size_t>(block + 1));
      for (int64_t i = block * 128; i < std::min<int64_t>(block * 128 + 128, 650); ++i) {
        const std::vector<double> p = oracle.row(head, i);
        for (size_t j = 0; j < p.size(); ++j) mass[j / 128] += p[j];
      }
      const auto& blocks = chosen[{head, block}] = chosen_by_definition(mass, 0.5);
      left_out += mass.size() - blocks.size();
    }
  }
  EXPECT_GT(left_out, 6u);
  oracle.expect(run, 0, [&](int head, int64_t i, int64_t j) {
    return chosen.at({head, i / 128}).count(j / 128) > 0;
  });
}

TEST(XAttention, UniformAttentionTakesAboutTauOfTheBlocks) {
  const ModelShape shape = small_shape(1, 1, 1, 32);
  const auto method = make("xattention:dense_below=0,tau=0.5", shape);
  MethodRun run(shape, *method, DType::F32, 4096);
  std::fill(run.inputs[0].q.begin(), run.inputs[0].q.end(), 0.0f);
  run.prompt(4096, 4096);
  const double share =
      static_cast<double>(run.record.pairs) / static_cast<double>(run.record.dense_pairs);
  EXPECT_GT(share, 0.47);
  EXPECT_LT(share, 0.60);
}

TEST(XAttention, ASecondPromptMayBeginWithinAGroupOfRows) {
  const ModelShape shape = small_shape(1, 1, 2, 32);
  const auto method = make("xattention:dense_below=0,tau=0", shape);
  MethodRun run(shape, *method, DType::F32, 700);
  run.prompt(301, 256);
  run.decode(4);
  run.prompt(395, 256);
  // tau = 0 keeps only the first block and the row's own, except for row blocks without a whole
  // group.
  const SparseOracle oracle(run, 0);
  oracle.expect(run, 0, [](int, int64_t i, int64_t j) {
    return (i >= 301 && i < 305) || j / 128 == 0 || j / 128 == i / 128;
  });
}

TEST(XAttention, ThresholdsOfEveryHeadComeFromAFile) {
  const TempFolder folder;
  const auto file = folder.path() / "t.json";
  std::ofstream(file) << R"({"thresholds": {"fuse_8": [[0, 0.5], [1, 0.9]], "fuse_18": 3}})";
  const ModelShape shape = small_shape(2, 1, 2, 32);
  const auto method = make("xattention:dense_below=0,thresholds=" + file.string(), shape);
  MethodRun run(shape, *method, DType::F32, 640);
  run.prompt(640, 640);
  const double tau[2][2] = {{0, 0.5}, {1, 0.9}};
  for (int layer = 0; layer < 2; ++layer) {
    const SparseOracle oracle(run, layer);
    Chosen chosen[2];
    for (int h = 0; h < 2; ++h) chosen[h] = all_chosen(shape, oracle, 640, 8, tau[layer][h]);
    oracle.expect(run, layer, [&](int head, int64_t i, int64_t j) {
      return chosen[head].at({head, i / 128}).count(j / 128) > 0;
    });
  }
  const auto error = [&](int stride, int layers, int heads) {
    return error_of([&] { read_thresholds(file, stride, layers, heads); });
  };
  EXPECT_TRUE(has(error(4, 2, 2), {"t.json", "stride=4", "_4"}));
  EXPECT_TRUE(has(error(8, 3, 2), {"t.json", "fuse_8", "2 layers", "3"}));
  EXPECT_TRUE(has(error(8, 2, 3), {"t.json", "layer 0", "2 heads", "3"}));
  std::ofstream(file) << R"({"thresholds": {"fuse_8": [[0, 1.5]]}})";
  EXPECT_TRUE(has(error(8, 1, 2), {"t.json", "layer 0", "1.5", "0 to 1"}));
  std::ofstream(file) << R"({"table": 3})";
  EXPECT_TRUE(has(error(8, 1, 2), {"t.json", "has no 'thresholds'"}));
}

TEST(XAttention, RefusalsOfAFileNameTheOption) {
  const TempFolder folder;
  const auto file = folder.write("t.json", "{");
  const ModelShape shape = small_shape(1, 1, 1, 32);
  for (const std::string& name : {file.string(), (folder.path() / "none.json").string()}) {
    const std::string error = error_of([&] { make("xattention:thresholds=" + name, shape); });
    EXPECT_EQ(error.find("--attention xattention: thresholds=" + name + ": "), 0u) << error;
  }
}

TEST(XAttention, RefusesAntidiagonalsThatDoNotFit) {
  const ModelShape shape = small_shape(1, 1, 1, 128);
  EXPECT_TRUE(has(error_of([&] { make("xattention:stride=32", shape); }),
                  {"xattention", "stride=32", "16"}));
}

}  // namespace
}  // namespace longhaul
