#include <gtest/gtest.h>

#include "ops/attention/attention.h"

namespace longhaul {
namespace {

TEST(VisiblePairs, CountsTriangleBandAndComplement) {
  KeySegment s;
  s.count = 8;
  AttendTask task{0, 2, 0, 8, 0, {&s, 1}};
  EXPECT_EQ(visible_pairs({&task, 1}), 2 * 36);
  s.visible = Visibility::kWindow;
  s.window = 3;
  EXPECT_EQ(visible_pairs({&task, 1}), 2 * (1 + 2 + 3 * 6));
  s.visible = Visibility::kChunk;
  EXPECT_EQ(visible_pairs({&task, 1}), 2 * (6 + 6 + 3));
  s.visible = Visibility::kBeyond;
  EXPECT_EQ(visible_pairs({&task, 1}), 2 * (36 - 21));
}

}  // namespace
}  // namespace longhaul
