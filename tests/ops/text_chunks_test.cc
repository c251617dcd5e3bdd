// The GPU's division of a text's pairs, compared with all pairs.

#include "ops/grad/text_chunks.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "ops/grad/gradient_phases.h"

namespace longhaul {
namespace {

TextAttention shape_of(int64_t tokens, int heads, int64_t sink, int64_t window) {
  return {tokens, heads, 1, 128, 1, sink, window};
}

TEST(TextChunks, HoldEveryPairThatIsSeenOnce) {
  for (const TextAttention& shape :
       {shape_of(1, 1, 0, 1), shape_of(700, 4, 0, 700), shape_of(1500, 4, 64, 256),
        shape_of(1500, 4, 3, 5), shape_of(1300, 2, 700, 100), shape_of(1100, 1, 0, 600),
        shape_of(1025, 1, 2000, 1)}) {
    const int64_t chunk = cuda::chunk_tokens(shape), tokens = shape.tokens;
    std::vector<uint8_t> held(static_cast<size_t>(tokens * tokens));
    for (int64_t token = 0; token < tokens; token += chunk) {
      const int64_t count = std::min(chunk, tokens - token);
      for (const cuda::KeyRange& keys : cuda::seen_keys(shape, token, count)) {
        ASSERT_GE(keys.begin, 0);
        ASSERT_LE(keys.end, tokens);
        for (int64_t row = token; row < token + count; ++row) {
          for (int64_t key = keys.begin; key < keys.end; ++key) {
            ++held[static_cast<size_t>(row * tokens + key)];
          }
        }
      }
    }
    for (int64_t row = 0; row < tokens; ++row) {
      for (int64_t key = 0; key < tokens; ++key) {
        const int times = held[static_cast<size_t>(row * tokens + key)];
        ASSERT_LE(times, 1);
        if (!cuda::sees(row, key, shape.sink, shape.window)) continue;
        ASSERT_EQ(times, 1) << row << " " << key;
      }
    }
  }
}

TEST(TextChunks, HaveRoomAndDecodeShapes) {
  for (const int64_t tokens : {2000, 8192, 30000, 131072}) {
    for (const int64_t window : {int64_t{256}, int64_t{4096}, tokens}) {
      const TextAttention shape = shape_of(tokens, 32, 64, std::min(window, tokens));
      const int64_t chunk = cuda::chunk_tokens(shape);
      std::set<std::pair<int64_t, int64_t>> shapes;
      double pairs = 0, seen = 0;
      for (int64_t token = 0; token < tokens; token += chunk) {
        const int64_t count = std::min(chunk, tokens - token);
        for (const cuda::KeyRange& keys : cuda::seen_keys(shape, token, count)) {
          if (keys.count() == 0) continue;
          shapes.insert({count, keys.count()});
          pairs += static_cast<double>(count * keys.count());
          EXPECT_LE(count * shape.heads * cuda::pair_stride(keys.count()) * cuda::kPairBytes,
                    cuda::kMostPairBytes);
        }
        for (int64_t row = token; row < token + count; ++row) {
          seen += static_cast<double>(std::min(row + 1, shape.window + shape.sink));
        }
      }
      EXPECT_LE(shapes.size(), 40u) << tokens << " " << window;
      EXPECT_LE(pairs, (window == 256 ? 3.0 : 1.35) * seen) << tokens << " " << window;
    }
  }
}

}  // namespace
}  // namespace longhaul
