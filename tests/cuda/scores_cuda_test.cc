// Operations over softmax maps on a GPU against the same on the host, in f32.

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "cuda/paged_heads.h"
#include "ops/cuda/block_mass.h"
#include "ops/cuda/column_sums.h"
#include "ops/cuda/line_sums.h"
#include "ops/cuda/tile_maps.h"

namespace longhaul::cuda {
namespace {

struct Shape {
  KvType type;
  int head_dim, kv_heads, group, rows;
  int64_t past;
  float cap = 0;
};

const Shape kShapes[] = {
    {DType::BF16, 128, 2, 4, 65, 1000},
    {DType::BF16, 64, 3, 3, 1, 63},
    {DType::F16, 96, 2, 2, 63, 64},
    {DType::F32, 80, 1, 1, 200, 1},
    {DType::Q8_0, 128, 2, 4, 130, 300},
    {DType::BF16, 112, 1, 5, 64, 65},
    {DType::BF16, 256, 2, 2, 33, 500},
    {DType::Q8_0, 64, 2, 8, 1, 3000},
    {DType::BF16, 128, 1, 4, 1000, 0},
    {DType::Q4_0, 128, 2, 4, 130, 300},
    {{DType::Q8_0, DType::Q4_0}, 96, 2, 2, 40, 200},
    {DType::BF16, 256, 2, 2, 140, 60, 2.0f},
    // So few that all heads of a row are columns of one product, also across segments' jobs.
    {DType::BF16, 128, 8, 4, 1, 700},
    {DType::Q4_0, 128, 2, 4, 7, 300},
    {DType::F16, 256, 1, 8, 4, 200, 2.0f},
    {DType::BF16, 80, 24, 1, 31, 130},
};

/// Of a probability: capped logits of 2 and less are off by 2^-11 of that, keys in Q4_0 by 1.1e-4
/// of their size from what bf16 holds.
double tolerance(const Shape& s) { return s.cap > 0 || s.type.k == DType::Q4_0 ? 3e-3 : 3e-4; }

std::string name_of(const Shape& s) {
  return "type " + longhaul::name_of(s.type) + ", dim " + std::to_string(s.head_dim) + ", rows " +
         std::to_string(s.rows) + ", past " + std::to_string(s.past);
}

/// Queries and keys on both sides; the rows' denominators over what the tasks name, by the host.
class Setting {
 public:
  explicit Setting(const Shape& s)
      : shape(s),
        total(s.past + s.rows),
        heads(s.type, s.head_dim, s.kv_heads, total, 7),
        q_heads(s.kv_heads * s.group) {
    const auto numbers = static_cast<size_t>(s.rows * q_heads * s.head_dim);
    for (uint32_t form = 0; form < 2; ++form) {
      queries[form] = exact_floats(numbers, 3 + form);
      queries_there.emplace_back(queries[form]);
      forms[form] = view_of(queries[form]);
    }
    for (const auto& form : queries_there) forms_there.push_back(view_of(form, numbers));
    for (int t = 0; t < s.head_dim / 2; ++t) {
      table.inverse_frequency.push_back(std::pow(1e4, -2.0 * t / s.head_dim));
    }
    here.queries = forms;
    here.heads = q_heads;
    here.head_dim = s.head_dim;
    here.scale = 1.0f / std::sqrt(static_cast<float>(s.head_dim));
    here.cap = s.cap;
    here.rotations = &rotations.fill(host_queue(), table, 0, total + 1);
    here.compute = AttendCompute::kF32;
    lse.resize(static_cast<size_t>(s.rows * q_heads));
    out.resize(numbers);
    there = here;
    there.queries = forms_there;
    const size_t angles =
        static_cast<size_t>(here.rotations->count * here.rotations->rotary_dim / 2);
    cosine = std::make_unique<OnDevice<float>>(
        std::vector<float>(here.rotations->cosine, here.rotations->cosine + angles));
    sine = std::make_unique<OnDevice<float>>(
        std::vector<float>(here.rotations->sine, here.rotations->sine + angles));
    rotations_there = *here.rotations;
    rotations_there.cosine = cosine->data();
    rotations_there.sine = sine->data();
    there.rotations = &rotations_there;
  }

  /// Adds a task of each KV head over segments that `make` gives for its pages.
  template <class Make>
  void see(Make&& make) {
    for (int h = 0; h < shape.kv_heads; ++h) {
      segments.push_back(make(heads.on_host(static_cast<size_t>(h)), h));
      segments_there.push_back(segments.back());
      for (KeySegment& s : segments_there.back()) {
        s.rows = heads.on_device(static_cast<size_t>(h));
      }
    }
    for (size_t h = 0; h < segments.size(); ++h) {
      const int first = static_cast<int>(h) * shape.group;
      tasks.push_back({first, shape.group, 0, shape.rows, shape.past, segments[h]});
      tasks_there.push_back({first, shape.group, 0, shape.rows, shape.past, segments_there[h]});
    }
  }
  /// The host's denominators go to both.
  void attend_here() {
    AttendCall call = here;
    call.out = view_of(out);
    call.lse = view_of(lse);
    attend(call, tasks);
    lse[0] = -INFINITY;  // a row that saw nothing: adds nothing
    lse_there = std::make_unique<OnDevice<float>>(lse);
    here.known_lse = view_of(lse);
    there.known_lse = view_of(*lse_there, lse.size());
  }
  int64_t keys() const {
    int64_t sum = 0;
    for (const KeySegment& s : segments[0]) sum += s.count;
    return sum;
  }

  Shape shape;
  int64_t total;
  PagedHeads heads;
  int q_heads;
  std::vector<float> queries[2], lse, out;
  std::vector<OnDevice<float>> queries_there;
  View<const float> forms[2];
  std::vector<View<const float>> forms_there;
  RopeTable table;
  RotationBuffer rotations;
  Rotations rotations_there;
  std::unique_ptr<OnDevice<float>> cosine, sine, lse_there;
  AttendCall here, there;
  std::vector<std::vector<KeySegment>> segments, segments_there;
  std::vector<AttendTask> tasks, tasks_there;
  ScoreScratch scratch;
};

/// A sink that all see, some rows of the middle, and a window; every seventh key of the list.
struct MixedSegments {
  MixedSegments(const Setting& s, bool rotate) : setting(s), rotated(rotate) {
    for (int32_t row = 2; row < s.total - 1; row += 1 + row % 7) list.push_back(row);
  }
  std::vector<KeySegment> operator()(const PagedRows& rows, int head) const {
    const int64_t total = setting.total;
    KeySegment sink, middle, near;
    sink.rows = middle.rows = near.rows = rows;
    sink.count = std::min<int64_t>(total, 5);
    sink.visible = Visibility::kAll;
    middle.index = View<const int32_t>(std::span<const int32_t>(list));
    middle.count = std::ssize(list);
    middle.indexed_positions = head % 2 == 0;
    middle.visible = head % 2 == 0 ? Visibility::kBeyond : Visibility::kCausal;
    middle.window = 17;
    near.begin = total / 3;
    near.count = total - near.begin;
    near.position = near.begin;
    near.visible = Visibility::kWindow;
    near.window = 40;
    if (rotated) {
      near.rotate = true;
      near.query = 1;
    }
    return {sink, middle, near};
  }
  const Setting& setting;
  bool rotated;
  std::vector<int32_t> list;
};

std::vector<KeySegment> causal(const PagedRows& rows, int64_t count) {
  KeySegment s;
  s.rows = rows;
  s.count = count;
  return {s};
}

void test_columns(const Shape& shape, bool rotate, bool per_head, bool squares) {
  SCOPED_TRACE(name_of(shape) + (rotate ? ", rotated" : "") + (per_head ? ", per head" : "") +
               (squares ? ", squares" : ""));
  Setting s(shape);
  const MixedSegments make(s, rotate);
  s.see(make);
  s.attend_here();
  const int64_t lists = per_head ? shape.group : 1;
  const auto each = static_cast<size_t>(lists * s.keys());
  std::vector<std::vector<float>> sums(s.tasks.size(), random_floats(each, 5)), more = sums;
  std::vector<OnDevice<float>> sums_there, more_there;
  std::vector<ColumnTarget> targets, targets_there;
  for (size_t i = 0; i < s.tasks.size(); ++i) {
    sums_there.emplace_back(sums[i]);
    more_there.emplace_back(more[i]);
  }
  for (size_t i = 0; i < s.tasks.size(); ++i) {
    targets.push_back({view_of(sums[i]), squares ? view_of(more[i]) : View<float>(), per_head});
    targets_there.push_back({view_of(sums_there[i], each),
                             squares ? view_of(more_there[i], each) : View<float>(), per_head});
  }
  longhaul::column_sums(s.here, s.tasks, targets);
  ASSERT_TRUE(column_sums(nullptr, s.there, s.tasks_there, targets_there, s.scratch));
  const double off = rotate ? 0.03 : tolerance(shape);
  for (size_t i = 0; i < s.tasks.size(); ++i) {
    expect_close(sums_there[i].get(), sums[i], off, off);
    expect_close(more_there[i].get(), more[i], off, off);
  }
}

TEST(CudaColumnSums, EqualTheHosts) {
  for (const Shape& shape : kShapes) {
    for (const bool per_head : {false, true}) {
      for (const bool squares : {false, true}) test_columns(shape, false, per_head, squares);
    }
  }
}

TEST(CudaColumnSums, RotateOnRead) {
  for (const Shape& shape : kShapes) test_columns(shape, true, false, true);
}

TEST(CudaColumnSums, AreTheSameEveryTime) {
  Setting s(kShapes[0]);
  const MixedSegments make(s, false);
  s.see(make);
  s.attend_here();
  std::vector<std::vector<float>> results;
  for (int run = 0; run < 3; ++run) {
    std::vector<float> zeros(static_cast<size_t>(s.keys()));
    std::vector<OnDevice<float>> sums;
    for (size_t i = 0; i < s.tasks.size(); ++i) sums.emplace_back(zeros);
    std::vector<ColumnTarget> targets;
    for (const auto& each : sums) targets.push_back({view_of(each, zeros.size()), {}, false});
    ASSERT_TRUE(column_sums(nullptr, s.there, s.tasks_there, targets, s.scratch));
    results.push_back(sums[0].get());
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(CudaLineSums, EqualTheHosts) {
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(name_of(shape));
    Setting s(shape);
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
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(name_of(shape));
    Setting s(shape);
    // Few rows are those of replies, behind keys of the same block of text.
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

void test_mass(Setting& s, int block) {
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
  for (const Shape& shape : kShapes) {
    for (const int block : {8, 16, 128}) {
      Setting s(shape);
      s.see([&](const PagedRows& rows, int) { return causal(rows, s.total); });
      test_mass(s, block);
    }
  }
  Setting window(kShapes[0]);
  window.see([&](const PagedRows& rows, int) {
    std::vector<KeySegment> own = causal(rows, window.total - 200);
    own[0].visible = Visibility::kWindow;  // the last rows see nothing
    own[0].window = 170;
    own[0].begin = 77;
    return own;
  });
  test_mass(window, 64);
}

TEST(CudaBlockMass, TakesRowsOfSeveralKeys) {
  for (const int stride : {8, 16}) {
    const Shape shape{DType::BF16, 128, 2, 2, 1024, 0};
    Setting s(shape);
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
}

}  // namespace
}  // namespace longhaul::cuda
