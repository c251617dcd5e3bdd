#include "attention/methods/ltri/tile_map.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ops/isa_fixture.h"
#include "ops/paged_head.h"
#include "ops/view_of.h"

namespace longhaul {
namespace {

using testing_support::PagedHead;
using testing_support::seen_keys;
using testing_support::view_of;

/// Two KV heads, rows with causal attention, and two tiles of their map.
void check_tile_map(KvType type, int head_dim, int group, AttendCompute compute) {
  constexpr int kMapRows = 90, kPast = 70, kWindow = 60, kStride = 150;
  std::mt19937 random(31);
  std::normal_distribution<float> normal;
  std::vector<PagedHead> heads;
  for (int h = 0; h < 2; ++h) heads.emplace_back(type, head_dim, kPast + kMapRows, random);
  RopeTable table;
  for (int t = 0; t < head_dim / 2; ++t) {
    table.inverse_frequency.push_back(std::pow(1e4, -2.0 * t / head_dim));
  }
  RotationBuffer rotations;
  const size_t q_heads = static_cast<size_t>(2 * group);
  std::vector<float> q(kMapRows * q_heads * static_cast<size_t>(head_dim)), out(q.size());
  std::vector<float> lse(kMapRows * q_heads);
  for (float& x : q) x = bf16_to_f32(f32_to_bf16(normal(random)));
  const View<const float> form = view_of(q);
  AttendCall call;
  call.queries = {&form, 1};
  call.heads = static_cast<int>(q_heads);
  call.head_dim = head_dim;
  call.scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
  call.rotations = &rotations.fill(host_queue(), table, 0, kPast + kMapRows);
  call.compute = compute;
  call.out = view_of(out);
  call.lse = view_of(lse);
  call.lse_in = view_of(lse);

  std::vector<KeySegment> all;
  std::vector<AttendTask> tasks;
  for (const PagedHead& head : heads) {
    KeySegment& s = all.emplace_back();
    s.rows = head.view();
    s.count = kPast + kMapRows;
    s.rotate = true;
    s.visible = Visibility::kWindow;
    s.window = kWindow;
  }
  for (int h = 0; h < 2; ++h) {
    tasks.push_back({h * group, group, 0, kMapRows, kPast, {&all[static_cast<size_t>(h)], 1}});
  }
  attend(call, tasks);

  struct Corner {
    int row, rows, key, keys;
  };
  const Corner corners[] = {{0, 37, 64, 43}, {50, 40, 30, 130}};
  std::vector<std::vector<float>> maps;
  std::vector<std::vector<KeySegment>> keys;
  std::vector<MapTile> tiles;
  for (const Corner& p : corners) {
    maps.emplace_back(static_cast<size_t>(p.rows * kStride), 0.5f);
    auto& segments = keys.emplace_back(all);
    for (KeySegment& s : segments) s.begin = s.position = p.key, s.count = p.keys;
  }
  for (size_t i = 0; i < 2; ++i) {
    tiles.push_back({corners[i].row, corners[i].rows, kPast + corners[i].row, keys[i],
                     view_of(maps[i]), kStride});
  }
  tile_maps(call, tiles);

  const bool exact = compute == AttendCompute::kF32 || current_isa() < Isa::kAvx512Bf16;
  for (size_t i = 0; i < 2; ++i) {
    const Corner& p = corners[i];
    std::vector<double> want(maps[i].size(), 0.5);  // results are added to existing values
    for (int r = 0; r < p.rows; ++r) {
      for (int h = 0; h < call.heads; ++h) {
        const size_t list = static_cast<size_t>(h / group);
        const auto seen = seen_keys(call, tasks[list], heads[list], table, p.row + r, h);
        double sum = 0;
        for (const auto& key : seen) sum += std::exp(key.logit);
        for (const auto& key : seen) {
          if (key.row < p.key || key.row >= p.key + p.keys) continue;
          want[static_cast<size_t>(r * kStride + key.row - p.key)] += std::exp(key.logit) / sum;
        }
      }
    }
    for (size_t j = 0; j < want.size(); ++j) {
      ASSERT_NEAR(maps[i][j], want[j], (exact ? 2e-5 : 1e-2) * (1 + want[j])) << i << " " << j;
    }
  }
}

TEST(TileMap, EqualsTheDefinitionAtEveryIsa) {
  at_every_isa([] {
    for (const AttendCompute compute : {AttendCompute::kF32, AttendCompute::kBest}) {
      check_tile_map(DType::F32, 32, 1, compute);
      check_tile_map(DType::BF16, 64, 3, compute);
      check_tile_map(DType::Q8_0, 96, 2, compute);
      check_tile_map({DType::Q4_0, DType::F16}, 64, 2, compute);
      check_tile_map(DType::F16, 24, 8, compute);
    }
  });
}

}  // namespace
}  // namespace longhaul
