#pragma once
// Inputs for tests of operations on softmax maps: queries, keys and denominators on the host and on
// a GPU.

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "cuda/paged_heads.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

struct ScoreShape {
  KvType type;
  int head_dim, kv_heads, group, rows;
  int64_t past;
  float cap = 0;
};

inline const ScoreShape kScoreShapes[] = {
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
    // Decode enough rows that all heads of a row are columns of one product, also across jobs of
    // several segments.
    {DType::BF16, 128, 8, 4, 1, 700},
    {DType::Q4_0, 128, 2, 4, 7, 300},
    {DType::F16, 256, 1, 8, 4, 200, 2.0f},
    {DType::BF16, 80, 24, 1, 31, 130},
};

/// Tolerance of probabilities. Capped logits up to 2 have a relative error of 2^-11. Keys in Q4_0
/// differ by 1.1e-4 of their size from bf16 values.
inline double tolerance(const ScoreShape& s) {
  return s.cap > 0 || s.type.k == DType::Q4_0 ? 3e-3 : 3e-4;
}

inline std::string name_of(const ScoreShape& s) {
  return "type " + longhaul::name_of(s.type) + ", dim " + std::to_string(s.head_dim) + ", rows " +
         std::to_string(s.rows) + ", past " + std::to_string(s.past);
}

/// Queries and keys on both sides. The host computes the rows' denominators over the tasks' keys.
class ScoreSetting {
 public:
  explicit ScoreSetting(const ScoreShape& s)
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

  /// Adds a task per KV head over the segments that `make` returns for its pages.
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
  /// Computes denominators on the host and copies them to the device.
  void attend_here() {
    AttendCall call = here;
    call.out = view_of(out);
    call.lse = view_of(lse);
    attend(call, tasks);
    lse[0] = -INFINITY;  // a row that saw no key adds nothing
    lse_there = std::make_unique<OnDevice<float>>(lse);
    here.lse_in = view_of(lse);
    there.lse_in = view_of(*lse_there, lse.size());
  }
  int64_t keys() const {
    int64_t sum = 0;
    for (const KeySegment& s : segments[0]) sum += s.count;
    return sum;
  }

  ScoreShape shape;
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

/// A sink that all rows see, some rows from the middle, and a window; every seventh key of the
/// list.
struct MixedSegments {
  MixedSegments(const ScoreSetting& s, bool rotate) : setting(s), rotated(rotate) {
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
  const ScoreSetting& setting;
  bool rotated;
  std::vector<int32_t> list;
};

}  // namespace longhaul::cuda
