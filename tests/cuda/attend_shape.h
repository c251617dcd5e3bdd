#pragma once
// The shape of an attention test, and the tolerance of its results.

#include <algorithm>
#include <vector>

#include "cuda/attend_pages.h"
#include "ops/attention/attend.gpu.h"

namespace longhaul::cuda {

struct AttendShape {
  KvType type;
  int head_dim, rotary_dim, heads, group;
  int rows;
  int64_t keys;
  bool plain;  ///< only stretches without rotation
  float cap = 0;
  bool sinks = false;
};

/// Logits from negligible to dominant.
inline std::vector<float> sink_logits(const AttendShape& shape) {
  std::vector<float> sinks;
  for (int h = 0; shape.sinks && h < shape.heads; ++h) {
    sinks.push_back(-3.0f + 3.5f * static_cast<float>(h % 5));
  }
  return sinks;
}

/// Whether keys and values are multiplied as stored: block types, few rows, no lists and no
/// rotation. Other kernels round them to bf16.
inline bool as_stored(const AttendShape& shape,
                      const std::vector<std::vector<KeySegment>>& segments) {
  const bool decode = shape.rows == 1 || shape.rows * shape.group <= 32;
  const auto plain = [](const KeySegment& s) { return !s.rotate && s.index.empty(); };
  return decode && shape.head_dim % 64 == 0 && !is_wide(shape.head_dim) &&
         is_block_type(shape.type.k) && is_block_type(shape.type.v) &&
         std::ranges::all_of(segments,
                             [&](const auto& of) { return std::ranges::all_of(of, plain); });
}

/// Whether queries rotate back (rope_on_read.cuh). The kernel then rounds other values to bf16 than
/// the definition does. Logits differ by 0.0032 to 0.0038 on average, and by at most 0.017 among
/// 40,000. Kernel and definition differ by as much from products without rounding.
///
/// Hadamard-rotated keys and queries have a similar effect: logits differ by 0.2 % of their spread,
/// or four times as much among thousands of them. The lse of a row that sees one key is its logit.
inline bool turns(const AttendShape& shape) {
  const bool decode = shape.rows == 1 || shape.rows * shape.group <= 32;
  return decode && !shape.plain && shape.head_dim <= 128 && shape.rotary_dim == shape.head_dim;
}
inline double lse_error(const AttendShape& shape) {
  return turns(shape) ? 2.5e-2 : shape.type.k == kHadamardKeys ? 1.5e-2 : 1e-3;
}
inline double out_error(const AttendShape& shape) {
  return turns(shape) || shape.type.k == kHadamardKeys ? 3e-2 : 1e-2;
}

}  // namespace longhaul::cuda
