#include "ops/matmul/linear_decode.h"

#include <array>
#include <vector>

#include "base/error.h"
#include "base/tensor_view.h"

namespace longhaul {
namespace {

constexpr size_t kMostJobs = 8;

/// x A^T of one job, also as the input of B.
struct Inner {
  Buffer<float> product;  // [rows, rank]
  ActivationRows rows;
};

void scale_rows(float* x, int64_t rows, const std::vector<float>& scale) {
  for (int64_t r = 0; r < rows; ++r) {
    for (const float s : scale) *x++ *= s;
  }
}

/// y += (scale * inner) B^T of every job with an adapter.
void add_low_rank(std::span<const LinearJob> jobs, std::array<Inner, kMostJobs>& inner,
                  int64_t rows) {
  thread_local std::vector<PackedJob> products;
  products.clear();
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i].low_rank == nullptr) continue;
    const LowRank& adapter = *jobs[i].low_rank;
    LH_ASSERT(adapter.packed_b.outputs() == jobs[i].weight.rows());
    scale_rows(inner[i].product.data(), rows, adapter.scale);
    inner[i].rows.assign(inner[i].product.data(), rows, adapter.rank());
    inner[i].rows.quantize();
    const int64_t stride = jobs[i].y_stride != 0 ? jobs[i].y_stride : jobs[i].weight.rows();
    for (int64_t row = 0; row < rows; ++row) {
      products.push_back({&adapter.packed_b, &inner[i].rows, row, jobs[i].y + row * stride});
    }
  }
  add_packed(products);
}

}  // namespace

void linear_decode(LinearInput& x, std::span<const LinearJob> jobs) {
  LH_ASSERT(jobs.size() <= kMostJobs);
  thread_local std::array<Inner, kMostJobs> inner;
  MatvecJob products[2 * kMostJobs];
  size_t count = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {
    products[count++] = {jobs[i].weight, jobs[i].y, jobs[i].y_stride, jobs[i].bias};
    if (jobs[i].low_rank == nullptr) continue;
    const LowRank& adapter = *jobs[i].low_rank;
    inner[i].product.resize(static_cast<size_t>(x.rows() * adapter.rank()));
    products[count++] = {adapter.a, inner[i].product.data()};
  }
  matvec(std::span<const MatvecJob>(products, count), x.decode());
  if (count > jobs.size()) add_low_rank(jobs, inner, x.rows());
}

}  // namespace longhaul
