#include "attention/methods/infllm/block_representatives.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/best_by_definition.h"
#include "ops/paged_head.h"
#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::best_by_definition;
using testing_support::PagedHead;
using testing_support::view_of;

TEST(BlockRepresentatives, AreTheKeysOfEachHeadsMostVotedTokens) {
  constexpr int kTokens = 20, kFirst = 25, kBlocks = 2, kHeadSize = 32, kHeads = 6;
  std::mt19937 random(9);
  std::uniform_int_distribution<int> draw(0, 12);  // makes ties
  for (const DType type : {DType::F32, DType::BF16, DType::F16, DType::Q8_0, DType::Q4_0}) {
    const PagedHead a(type, kHeadSize, 70, random), b(type, kHeadSize, 70, random);
    const PagedRows lists[] = {a.view(), b.view()};
    std::vector<float> votes(kBlocks * kTokens * kHeads);
    for (float& each : votes) each = static_cast<float>(draw(random));
    for (const int64_t count : {1, 3, 20}) {
      for (const bool mean : {true, false}) {
        const RepresentativesCall call{lists, kFirst, view_of(votes), kHeads, count, mean, kBlocks};
        RepresentativesMemory memory;
        const int64_t vectors = mean ? 1 : count;
        std::vector<float> out(static_cast<size_t>(kBlocks * kHeads * vectors * kHeadSize), NAN);
        block_representatives(host_queue(), call, memory, view_of(out));
        for (int of = 0; of < kBlocks * kHeads; ++of) {
          const int h = of % kHeads, first = of / kHeads * kTokens;
          std::vector<double> own;
          for (int t = first; t < first + kTokens; ++t) {
            own.push_back(votes[static_cast<size_t>(t * kHeads + h)]);
          }
          const PagedHead& list = h < 3 ? a : b;
          const auto chosen = best_by_definition(own, count);
          for (int64_t d = 0; d < kHeadSize; ++d) {
            double sum = 0;
            for (int64_t i = 0; i < count; ++i) {
              const float key =
                  list.k[static_cast<size_t>(kFirst + first + chosen[static_cast<size_t>(i)])]
                        [static_cast<size_t>(d)];
              sum += key;
              const size_t at = static_cast<size_t>((of * vectors + i) * kHeadSize + d);
              if (!mean) {
                ASSERT_EQ(out[at], key) << h;
              }
            }
            if (!mean) continue;
            ASSERT_NEAR(out[static_cast<size_t>(of * kHeadSize + d)],
                        sum / static_cast<double>(count), 1e-5)
                << h;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace longhaul
