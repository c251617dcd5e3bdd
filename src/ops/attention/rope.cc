#include "ops/attention/rope.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/on_device.h"
#include "base/parallel.h"

namespace longhaul {
namespace {

void rotate_row(const Rotations& r, int64_t position, const float* x, int heads, int head_dim,
                float* y) {
  const int half = r.rotary_dim / 2;
  const float* cosine = r.cosine + (position - r.first) * half;
  const float* sine = r.sine + (position - r.first) * half;
  for (int h = 0; h < heads; ++h, x += head_dim, y += head_dim) {
#pragma omp simd
    for (int t = 0; t < half; ++t) {
      const float a = x[t], b = x[t + half];
      y[t] = a * cosine[t] - b * sine[t];
      y[t + half] = b * cosine[t] + a * sine[t];
    }
    for (int t = r.rotary_dim; t < head_dim; ++t) y[t] = x[t];
  }
}

/// Row r has position position + r * step.
void rotate_rows(Queue& queue, const Rotations& rotations, int64_t position, int64_t step,
                 View<const float> x, int64_t rows, int heads, int head_dim, View<float> y) {
  const int64_t width = static_cast<int64_t>(heads) * head_dim;
  LH_ASSERT(x.size() >= rows * width && y.size() >= rows * width);
  LH_ASSERT(rotations.place == queue.place());
  if (on_device(kRotate, queue, rotations, position, step, x, rows, heads, head_dim, y)) return;
  if (!queue.on_host()) {
    HostStage on(queue);
    RotationBuffer here;
    return rotate_rows(host_queue(), here.copy(rotations, on), position, step, on(x), rows, heads,
                       head_dim, on(y));
  }
  const float* const from = host(x).data();
  float* const to = host(y).data();
  parallel_ranges(rows, 32, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      rotate_row(rotations, position + r * step, from + r * width, heads, head_dim, to + r * width);
    }
  });
}

constexpr int64_t kLeastGrowth = 1024;  // positions

bool covers(const Rotations& r, int64_t first, int64_t count) {
  return first >= r.first && first + count <= r.first + r.count;
}

}  // namespace

RopeTable stretched_rope(const RopeTable& rope, double stretch) {
  RopeTable stretched = rope;
  const int dim = rope.rotary_dim();
  if (dim <= 2) return stretched;  // one frequency, the fastest
  for (size_t t = 0; t < stretched.inverse_frequency.size(); ++t) {
    // inverse frequency t is base^(-2t / d)
    stretched.inverse_frequency[t] *= std::pow(stretch, -2.0 * static_cast<double>(t) / (dim - 2));
  }
  return stretched;
}

const RopeTable& StretchedRope::of(const RopeTable& rope, double stretch) {
  if (stretch == 1) return rope;
  if (stretch_ != stretch || !(from_ == rope)) {
    from_ = rope;
    stretched_ = stretched_rope(rope, stretch);
    stretch_ = stretch;
  }
  return stretched_;
}

namespace {

void compute(const RopeTable& table, int64_t first, int64_t count, float* cosine, float* sine) {
  const size_t half = table.inverse_frequency.size();
  parallel_ranges(count, 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (size_t t = 0; t < half; ++t) {
        const double angle = static_cast<double>(first + i) * table.inverse_frequency[t];
        const size_t at = static_cast<size_t>(i) * half + t;
        cosine[at] = static_cast<float>(std::cos(angle)) * table.attention_factor;
        sine[at] = static_cast<float>(std::sin(angle)) * table.attention_factor;
      }
    }
  });
}

}  // namespace

const Rotations& RotationBuffer::fill(Queue& queue, const RopeTable& table, int64_t first,
                                      int64_t count) {
  if (table_ == table && covers(view_, first, count) && view_.place == queue.place()) return view_;
  view_ = {};  // the arrays below may move, and their growth may fail
  table_ = table;
  const int64_t numbers = count * std::ssize(table.inverse_frequency);
  const View<float> cosine = cosine_.resize(queue, numbers), sine = sine_.resize(queue, numbers);
  if (!on_device(kRotations, queue, table, first, count, cosine, sine)) {
    HostStage on(queue);
    compute(table, first, count, host(on(cosine)).data(), host(on(sine)).data());
  }
  view_ = {first, count, table.rotary_dim(), queue.place(), cosine.address(), sine.address()};
  return view_;
}

const Rotations& RotationBuffer::up_to(Queue& queue, const RopeTable& table, int64_t end) {
  if (table_ == table && covers(view_, 0, end) && view_.place == queue.place()) return view_;
  const int64_t grown = table_ == table && view_.first == 0 ? view_.count + view_.count / 4 : 0;
  const int64_t count = std::max(end, grown);
  return fill(queue, table, 0, (count + kLeastGrowth - 1) / kLeastGrowth * kLeastGrowth);
}

std::shared_ptr<RotationBuffer> SharedRotations::of(const RopeTable& table) {
  std::erase_if(kept_, [](const auto& each) { return each.second.expired(); });
  const auto found =
      std::ranges::find_if(kept_, [&](const auto& each) { return each.first == table; });
  if (found != kept_.end()) return found->second.lock();
  auto made = std::make_shared<RotationBuffer>();
  kept_.emplace_back(table, made);
  return made;
}

const Rotations& RotationBuffer::copy(const Rotations& others, HostStage& stage) {
  const int64_t numbers = others.count * (others.rotary_dim / 2);
  view_ = others;
  view_.place = {};
  view_.cosine = stage(View<const float>(others.cosine, numbers, others.place)).address();
  view_.sine = stage(View<const float>(others.sine, numbers, others.place)).address();
  return view_;
}

void apply_rope(Queue& queue, const Rotations& rotations, int64_t position, View<const float> x,
                int64_t rows, int heads, int head_dim, View<float> y) {
  LH_ASSERT(covers(rotations, position, rows));
  rotate_rows(queue, rotations, position, 1, x, rows, heads, head_dim, y);
}

void apply_rope_constant(Queue& queue, const Rotations& rotations, int64_t position,
                         View<const float> x, int64_t rows, int heads, int head_dim,
                         View<float> y) {
  LH_ASSERT(covers(rotations, position, 1));
  rotate_rows(queue, rotations, position, 0, x, rows, heads, head_dim, y);
}

}  // namespace longhaul
