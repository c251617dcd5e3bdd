// Attention over keys and values in block types.

#include <gtest/gtest.h>

#include <cmath>

#include "ops/attention/attention.h"
#include "ops/isa_fixture.h"
#include "ops/paged_head.h"
#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::view_of;
using BlockHead = testing_support::PagedHead;

/// The output of three query heads in the last `rows` rows over all keys of a list.
std::vector<float> attended(const BlockHead& head, int rows, bool rotate, AttendCompute compute) {
  const int heads = 3, dim = head.head_dim;
  const auto total = static_cast<int64_t>(head.k.size());
  std::mt19937 random(8);
  std::normal_distribution<float> normal;
  std::vector<float> q(static_cast<size_t>(rows * heads * dim)), out(q.size(), NAN);
  for (float& x : q) x = normal(random);
  RopeTable table;
  for (int t = 0; t < dim / 2; ++t)
    table.inverse_frequency.push_back(std::pow(1e4, -2.0 * t / dim));
  RotationBuffer buffer;
  const View<const float> forms[] = {view_of(q)};
  AttendCall call;
  call.queries = forms;
  call.heads = heads;
  call.head_dim = dim;
  call.scale = 0.125f;
  call.rotations = &buffer.fill(host_queue(), table, 0, total + 1);
  call.compute = compute;
  call.out = view_of(out);
  KeySegment all;
  all.rows = head.view();
  all.count = total;
  all.rotate = rotate;
  const AttendTask task{0, heads, 0, rows, total - rows, {&all, 1}};
  attend(call, {&task, 1});
  return out;
}

void expect_within(const std::vector<float>& a, const std::vector<float>& b, float allowed) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], allowed) << i;
}

/// Blocks are expanded while they are read. The result must equal that of rows with the expanded
/// values.
TEST(AttentionOfBlocks, AreReadAsTheNumbersThatTheyHold) {
  at_every_isa([] {
    for (const KvType type : {KvType(DType::Q4_0), KvType(DType::Q8_0),
                              KvType(DType::Q8_0, DType::Q4_0), KvType(DType::Q4_0, DType::Q8_0)}) {
      std::mt19937 random(3);
      const BlockHead blocks(type, 64, 333, random);
      std::vector<std::vector<float>> numbers;
      for (size_t r = 0; r < blocks.k.size(); ++r) {
        numbers.push_back(blocks.k[r]);
        numbers.push_back(blocks.v[r]);
      }
      const bool bf16 = current_isa() >= Isa::kAvx512Bf16;
      const BlockHead f32(DType::F32, 64, numbers),
          best(bf16 ? DType::BF16 : DType::F32, 64, numbers);
      for (const int rows : {1, 40}) {
        SCOPED_TRACE(testing::Message()
                     << name_of(type) << " rows " << rows << " isa " << name_of(current_isa()));
        const auto in_f32 = AttendCompute::kF32, in_best = AttendCompute::kBest;
        // Decode rows multiply Hadamard-rotated keys by rotated queries, which changes the order of
        // additions.
        const float allowed = rows == 1 && type.k == DType::Q4_0 ? 2e-5f : 0.0f;
        const std::vector<float> read = attended(blocks, rows, false, in_best);
        if (rows == 1 && current_isa() == Isa::kAvx512Bf16) {  // not rounded to bf16
          expect_within(read, attended(f32, rows, false, in_f32), 2e-5f);
        } else if (rows == 1 && current_isa() > Isa::kAvx512Bf16) {
          expect_within(read, attended(f32, rows, false, in_f32), 2e-2f);
        } else {
          expect_within(read, attended(best, rows, false, in_best), allowed);
        }
        expect_within(attended(blocks, rows, false, in_f32), attended(f32, rows, false, in_f32),
                      allowed);
        ASSERT_EQ(attended(blocks, rows, true, in_f32), attended(f32, rows, true, in_f32));
      }
    }
  });
}

}  // namespace
}  // namespace longhaul
