// Operations on softmax maps on a GPU compared with the host's in f32. Column sums have a file of
// their own.

#include <gtest/gtest.h>

#include <cmath>

#include "attention/methods/ltri/tile_maps.gpu.h"
#include "cuda/score_setting.h"
#include "ops/maps/maps.gpu.h"

namespace longhaul::cuda {
namespace {

std::vector<KeySegment> causal(const PagedRows& rows, int64_t count) {
  KeySegment s;
  s.rows = rows;
  s.count = count;
  return {s};
}

TEST(CudaLineSums, EqualTheHosts) {
  for (const ScoreShape& shape : kScoreShapes) {
    SCOPED_TRACE(name_of(shape));
    ScoreSetting s(shape);
    s.see([&](const PagedRows& rows, int) { return causal(rows, s.total); });
    s.attend_here();
    const auto each = static_cast<size_t>(shape.group * s.total);
    std::vector<std::vector<float>> columns(s.tasks.size(), std::vector<float>(each)),
        diagonals = columns;
    std::vector<OnDevice<float>> columns_there, diagonals_there;
    std::vector<LineSums> sums, sums_there;
    for (size_t i = 0; i < s.tasks.size(); ++i) {
      columns_there.emplace_back(each);
      diagonals_there.emplace_back(each);
    }
    for (size_t i = 0; i < s.tasks.size(); ++i) {
      sums.push_back({view_of(columns[i]), view_of(diagonals[i])});
      sums_there.push_back({view_of(columns_there[i], each), view_of(diagonals_there[i], each)});
    }
    longhaul::line_sums(s.here, s.tasks, sums);
    ASSERT_TRUE(line_sums(nullptr, s.there, s.tasks_there, sums_there, s.scratch));
    for (size_t i = 0; i < s.tasks.size(); ++i) {
      expect_close(columns_there[i].get(), columns[i], tolerance(shape), 3e-5);
      expect_close(diagonals_there[i].get(), diagonals[i], tolerance(shape), 3e-5);
    }
  }
}

TEST(CudaTileMaps, EqualTheHosts) {
  for (const ScoreShape& shape : kScoreShapes) {
    SCOPED_TRACE(name_of(shape));
    ScoreSetting s(shape);
    // Decode rows are those of a reply, after keys of the same block of text.
    const int64_t keys = shape.rows < 8 ? std::min<int64_t>(s.total, 150)
                                        : std::min<int64_t>(shape.rows, kMostTileKeys);
    const int64_t stride = keys + 3;
    s.see([&](const PagedRows& rows, int) {
      std::vector<KeySegment> own = causal(rows, keys);
      own[0].begin = own[0].position = shape.rows < 8 ? s.total - keys : shape.past;
      return own;
    });
    s.attend_here();
    std::vector<KeySegment> segments, segments_there;
    for (size_t h = 0; h < s.segments.size(); ++h) {
      segments.push_back(s.segments[h][0]);
      segments_there.push_back(s.segments_there[h][0]);
    }
    std::vector<float> map = random_floats(static_cast<size_t>(shape.rows * stride), 9);
    const OnDevice<float> map_there(map);
    const MapTile tile{0, shape.rows, shape.past, segments, view_of(map), stride};
    const MapTile tile_there{
        0, shape.rows, shape.past, segments_there, view_of(map_there, map.size()), stride};
    longhaul::tile_maps(s.here, {&tile, 1});
    ASSERT_TRUE(tile_maps(nullptr, s.there, {&tile_there, 1}, s.scratch));
    expect_close(map_there.get(), map, tolerance(shape), 3e-5);
  }
}

void test_mass(ScoreSetting& s, int block) {
  SCOPED_TRACE(name_of(s.shape) + ", block " + std::to_string(block));
  const int64_t keys = s.segments[0][0].count;
  const auto each =
      static_cast<size_t>(s.tasks[0].row_count * s.shape.group * block_count(keys, block));
  std::vector<std::vector<float>> masses(s.tasks.size(), std::vector<float>(each));
  std::vector<OnDevice<float>> masses_there;
  for (size_t i = 0; i < s.tasks.size(); ++i) masses_there.emplace_back(each);
  std::vector<View<float>> to, to_there;
  for (auto& mass : masses) to.push_back(view_of(mass));
  for (const auto& mass : masses_there) to_there.push_back(view_of(mass, each));
  const auto denominators = static_cast<size_t>(s.tasks[0].row_count * s.q_heads);
  std::vector<float> lse(denominators);
  const OnDevice<float> lse_there(denominators);
  s.here.lse = view_of(lse);
  s.there.lse = view_of(lse_there, denominators);
  longhaul::block_mass(s.here, s.tasks, block, to);
  ASSERT_TRUE(block_mass(nullptr, s.there, s.tasks_there, block, to_there, s.scratch));
  for (size_t i = 0; i < s.tasks.size(); ++i) {
    expect_close(masses_there[i].get(), masses[i], tolerance(s.shape), 3e-6);
  }
  const std::vector<float> got = lse_there.get();
  for (size_t i = 0; i < lse.size(); ++i) {
    if (std::isinf(lse[i])) {
      EXPECT_EQ(got[i], lse[i]);
    } else {
      EXPECT_NEAR(got[i], lse[i], tolerance(s.shape) / 3);
    }
  }
}

TEST(CudaBlockMass, EqualsTheHosts) {
  for (const ScoreShape& shape : kScoreShapes) {
    for (const int block : {8, 16, 128}) {
      ScoreSetting s(shape);
      s.see([&](const PagedRows& rows, int) { return causal(rows, s.total); });
      test_mass(s, block);
    }
  }
  ScoreSetting window(kScoreShapes[0]);
  window.see([&](const PagedRows& rows, int) {
    std::vector<KeySegment> own = causal(rows, window.total - 200);
    own[0].visible = Visibility::kWindow;  // the last rows see no key
    own[0].window = 170;
    own[0].begin = 77;
    return own;
  });
  test_mass(window, 64);
}

/// Rows as in XAttention: `stride` keys of a page form one key, and as many rows form one row.
void test_rows_of_several_keys(const ScoreShape& shape, int stride, bool allow_sm90) {
  ScoreSetting s(shape);
  s.scratch.allow_sm90 = allow_sm90;
  const int groups = shape.rows / stride;
  for (AttendCall* call : {&s.here, &s.there}) {
    call->head_dim *= stride;
    call->scale /= static_cast<float>(stride);
    call->queries = call->queries.first(1);
  }
  s.shape.rows = groups;
  s.shape.past = 0;
  s.see([&](const PagedRows& rows, int) { return causal(rows, groups); });
  for (auto* all : {&s.segments, &s.segments_there}) {
    for (auto& of : *all) {
      of[0].rows.page_rows /= stride;
      of[0].rows.head_dim *= stride;
    }
  }
  test_mass(s, 128 / stride);
}

TEST(CudaBlockMass, TakesRowsOfSeveralKeys) {
  // 523 groups end within a tile of 128 (row, head) rows and within one of 256 keys.
  for (const ScoreShape& shape :
       {ScoreShape{DType::BF16, 128, 2, 2, 1024, 0}, ScoreShape{DType::BF16, 128, 2, 3, 4184, 0},
        ScoreShape{DType::BF16, 64, 1, 2, 4184, 0, 2.0f},
        ScoreShape{DType::F16, 128, 1, 2, 1024, 0}}) {
    for (const int stride : {8, 16}) {
      for (const bool allow_sm90 : {true, false}) {
        test_rows_of_several_keys(shape, stride, allow_sm90);
      }
    }
  }
}

}  // namespace
}  // namespace longhaul::cuda
