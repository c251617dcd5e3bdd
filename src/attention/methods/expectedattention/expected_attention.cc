#include "attention/methods/expectedattention/expected_attention.h"

#include <algorithm>
#include <cmath>

#include "attention/methods/expectedattention/expected_kernels.h"
#include "base/on_device.h"
#include "base/parallel.h"
#include "ops/core/host_copies.h"
#include "ops/core/thread_scratch.h"

namespace longhaul {
namespace {

constexpr int64_t kGrain = 1024;  // least number of keys per thread

/// Applies the rotation to the vector of elements x[0], x[stride], x[2 * stride], ....
void apply(const AverageRotation& rotation, double* x, int64_t stride) {
  const auto half = std::ssize(rotation.cosine);
  for (int64_t t = 0; t < half; ++t) {
    const double c = rotation.cosine[static_cast<size_t>(t)];
    const double s = rotation.sine[static_cast<size_t>(t)];
    const double a = x[t * stride], b = x[(t + half) * stride];
    x[t * stride] = c * a - s * b;
    x[(t + half) * stride] = c * b + s * a;
  }
}

/// QueryMoments in host memory.
struct HostMoments {
  int64_t rows;
  std::span<const float> origin;
  std::span<const double> sums, products;

  HostMoments(HostStage& on, const QueryMoments& m)
      : rows(m.rows),
        origin(host(on(m.origin.view()))),
        sums(host(on(m.sums.view()))),
        products(host(on(m.products.view()))) {}
};

/// The coefficients of the logits of some query heads: linear and quadratic in the key, in the
/// format of LogitUnit.
struct Terms {
  int padded;                    ///< head_dim, rounded up to a multiple of 32
  std::vector<float> linear;     ///< [heads, padded]
  std::vector<float> quadratic;  ///< [heads, padded, padded] or empty

  Terms(const HostMoments& moments, float scale, const AverageRotation& rotation, int head_begin,
        int head_count, int head_dim)
      : padded((head_dim + 31) / 32 * 32) {
    const bool covariance = !moments.products.empty();
    linear.resize(static_cast<size_t>(head_count * padded));
    if (covariance) quadratic.resize(linear.size() * static_cast<size_t>(padded));
    for (int h = 0; h < head_count; ++h) {
      add_head(moments, scale, rotation, head_begin + h, h, head_dim);
    }
  }

 private:
  void add_head(const HostMoments& m, double scale, const AverageRotation& rotation, int head,
                int at, int dim) {
    const double rows = static_cast<double>(std::max<int64_t>(1, m.rows));
    const auto first = static_cast<size_t>(head) * static_cast<size_t>(dim);
    // The mean of the rows after subtraction of the origin.
    std::vector<double> mean(m.sums.begin() + std::ptrdiff_t(first),
                             m.sums.begin() + std::ptrdiff_t(first) + dim);
    for (double& x : mean) x /= rows;
    if (!quadratic.empty()) add_covariance(m, rotation, first, mean, rows, scale * scale / 2, at);
    for (size_t t = 0; t < mean.size(); ++t) mean[t] += m.origin[first + t];
    apply(rotation, mean.data(), 1);
    float* const out = linear.data() + at * padded;
    for (size_t t = 0; t < mean.size(); ++t) out[t] = static_cast<float>(scale * mean[t]);
  }

  /// Adds the rotated covariance to the quadratic coefficients. The matrix is symmetric, so
  /// elements below the diagonal are doubled and those above it are zero.
  void add_covariance(const HostMoments& m, const AverageRotation& rotation, size_t first,
                      const std::vector<double>& mean, double rows, double factor, int at) {
    const size_t dim = mean.size();
    const double* const products = m.products.data() + first * dim;
    std::vector<double> covariance(dim * dim);
    for (size_t i = 0; i < dim; ++i) {
      for (size_t j = 0; j < dim; ++j) {
        covariance[i * dim + j] = products[i * dim + j] / rows - mean[i] * mean[j];
      }
    }
    const auto width = static_cast<int64_t>(dim);
    for (int64_t i = 0; i < width; ++i) apply(rotation, covariance.data() + i, width);
    for (int64_t i = 0; i < width; ++i) apply(rotation, covariance.data() + i * width, 1);
    float* const out = quadratic.data() + int64_t{at} * padded * padded;
    for (size_t i = 0; i < dim; ++i) {
      for (size_t j = 0; j <= i; ++j) {
        const double both =
            i == j ? covariance[i * dim + j] : covariance[i * dim + j] + covariance[j * dim + i];
        out[i * static_cast<size_t>(padded) + j] = static_cast<float>(factor * both);
      }
    }
  }
};

/// Replaces each row of logits [heads, keys] by its softmax.
void softmax_rows(float* logits, int heads, int64_t keys) {
  parallel_for(heads, [&](int64_t head, int) {
    float* const x = logits + head * keys;
    const double top = *std::max_element(x, x + keys);
    double sum = 0;
    for (int64_t j = 0; j < keys; ++j) sum += std::exp(x[j] - top);
    for (int64_t j = 0; j < keys; ++j) x[j] = static_cast<float>(std::exp(x[j] - top) / sum);
  });
}

/// Implements expected_attention() on the host. The moments are in the memory of `queue`.
void expect_on_host(Queue& queue, const ExpectedQueries& queries, const PagedRows& rows,
                    int64_t first_row, int head_begin, int head_count, View<float> scores) {
  HostStage on(queue);
  const HostMoments moments(on, *queries.moments);
  const int64_t keys = scores.size(), heads = head_begin + head_count;
  LH_ASSERT(first_row >= 0 && head_begin >= 0 && head_count > 0);
  LH_ASSERT(queries.positions > 0 && queries.rope->rotary_dim() <= rows.head_dim);
  LH_ASSERT(std::ssize(moments.sums) >= heads * rows.head_dim);
  if (keys == 0) return;
  const AverageRotation rotation(*queries.rope, queries.first, queries.positions);
  const Terms terms(moments, queries.scale, rotation, head_begin, head_count, rows.head_dim);

  Array<float> memory;
  float* const logits = host(memory.resize(host_queue(), keys * head_count)).data();
  float* const out = host(scores).data();
  const ExpectedKernels& kernels = kExpectedKernels_for(current_isa());
  LogitUnit unit;
  unit.rows = &rows;
  unit.heads = head_count;
  unit.linear = terms.linear.data();
  unit.quadratic = terms.quadratic.empty() ? nullptr : terms.quadratic.data();
  unit.stride = keys;
  parallel_for((keys + kTileKeys - 1) / kTileKeys, [&](int64_t block, int) {
    LogitUnit mine = unit;
    const int64_t begin = block * kTileKeys;
    mine.begin = first_row + begin;
    mine.count = std::min<int64_t>(kTileKeys, keys - begin);
    mine.logits = logits + begin;
    kernels.logits(mine, thread_scratch(kernels.logits_scratch_bytes(rows.head_dim)));
  });
  softmax_rows(logits, head_count, keys);
  parallel_ranges(keys, kGrain, [&](int64_t begin, int64_t end) {
    if (queries.values) kernels.value_lengths(rows, first_row + begin, end - begin, out + begin);
    for (int64_t j = begin; j < end; ++j) {
      double sum = 0;
      for (int h = 0; h < head_count; ++h) sum += logits[h * keys + j];
      const double mean = sum / head_count;
      const double score = queries.values ? (mean + queries.epsilon) * out[j] : mean;
      out[j] = static_cast<float>(score);
    }
  });
}

}  // namespace

AverageRotation::AverageRotation(const RopeTable& table, int64_t first, int64_t positions) {
  const auto count = static_cast<double>(positions);
  const double middle = static_cast<double>(first) + (count - 1) / 2;
  for (const double frequency : table.inverse_frequency) {
    // For n consecutive t, the sum of e^(i t f) is e^(i f middle) sin(n f / 2) / sin(f / 2).
    const double half = std::sin(frequency / 2);
    const double length = half == 0 ? 1 : std::sin(count * frequency / 2) / half / count;
    const double factor = length * static_cast<double>(table.attention_factor);
    cosine.push_back(factor * std::cos(frequency * middle));
    sine.push_back(factor * std::sin(frequency * middle));
  }
}

void expected_attention(Queue& queue, const ExpectedQueries& queries, const PagedRows& rows,
                        int64_t first_row, int head_begin, int head_count, View<float> scores) {
  if (on_device(kExpectedAttention, queue, queries, rows, first_row, head_begin, head_count,
                scores)) {
    return;
  }
  if (!queue.on_host()) {
    HostCopies on(queue);
    return expect_on_host(queue, queries, on(rows, first_row, first_row + scores.size()), first_row,
                          head_begin, head_count, on(scores));
  }
  expect_on_host(queue, queries, rows, first_row, head_begin, head_count, scores);
}

void expected_attention(Queue& queue, const ExpectedQueries& queries,
                        std::span<const PagedRows> lists, int64_t first_row,
                        std::span<const View<float>> scores) {
  const int each = queries.moments->heads / static_cast<int>(lists.size());
  for (size_t list = 0; list < lists.size(); ++list) {
    expected_attention(queue, queries, lists[list], first_row, static_cast<int>(list) * each, each,
                       scores[list].from(first_row));
  }
}

}  // namespace longhaul
