#include "ops/matmul/cublas.gpu.h"

#include <algorithm>

#include "base/error.h"

namespace longhaul::cuda {
namespace {

constexpr size_t kMostPlans = 512;  // the last pass of a prompt may have any number of rows

/// The largest power of two up to 256 that divides the address and the bytes between batches.
uint32_t alignment_of(const void* p, int64_t batch_bytes) {
  const auto both = reinterpret_cast<uintptr_t>(p) | static_cast<uintptr_t>(batch_bytes);
  return static_cast<uint32_t>(std::min<uintptr_t>(both & (~both + 1), 256));
}

}  // namespace

Gemm::Gemm(const CublasLibrary& library, size_t workspace_bytes)
    : library_(library), workspace_(workspace_bytes) {
  if (const int status = library_.create(&handle_); status != lt::kSuccess) {
    user_error("{}: cublasLtCreate fails with status {}: does its version fit the driver's?",
               library_.path, status);
  }
  for (const int w_turned : {0, 1}) {
    for (const int x_turned : {0, 1}) {
      operations_[w_turned][x_turned] = make_operation(w_turned, x_turned);
    }
  }
}

lt::Operation Gemm::make_operation(int w_turned, int x_turned) const {
  lt::Operation made = nullptr;
  require(library_.create_operation(&made, lt::kCompute32F, lt::kR32F), "DescCreate");
  // cuBLAS is column-major, so row-major data counts as transposed already.
  const int32_t w = w_turned != 0 ? lt::kAsItLies : lt::kTransposed,
                x = x_turned != 0 ? lt::kTransposed : lt::kAsItLies;
  require(library_.set_operation(made, lt::kTransA, &w, sizeof w), "DescSetAttribute");
  require(library_.set_operation(made, lt::kTransB, &x, sizeof x), "DescSetAttribute");
  return made;
}

/// Sets the scales of the rows in a product of e4m3 floats.
void Gemm::set_scales(const GemmCall& call) {
  LH_ASSERT(call.w_scales != nullptr && !call.x_turned && !call.w_turned);
  if (fp8_operation_ == nullptr) {
    fp8_operation_ = make_operation(0, 0);
    for (const int mode : {lt::kScaleModeA, lt::kScaleModeB}) {
      require(library_.set_operation(fp8_operation_, mode, &lt::kScaleOfRow, sizeof(int32_t)),
              "DescSetAttribute");
    }
  }
  require(library_.set_operation(fp8_operation_, lt::kScalesA, &call.w_scales, sizeof(void*)),
          "DescSetAttribute");
  require(library_.set_operation(fp8_operation_, lt::kScalesB, &call.x_scales, sizeof(void*)),
          "DescSetAttribute");
}

Gemm::~Gemm() {
  for (const auto& [shape, plan] : plans_) release(plan);
  for (const auto& of_w : operations_) {
    for (const lt::Operation made : of_w) {
      if (made != nullptr) library_.destroy_operation(made);
    }
  }
  if (fp8_operation_ != nullptr) library_.destroy_operation(fp8_operation_);
  if (handle_ != nullptr) library_.destroy(handle_);
}

void Gemm::require(int status, const char* what) const {
  require_cublas(library_.path, status, what);
}

void Gemm::release(const Plan& plan) const {
  for (const lt::Layout layout : {plan.w, plan.x, plan.y}) {
    if (layout != nullptr) library_.destroy_layout(layout);
  }
}

lt::Heuristic Gemm::best(const Shape& shape, const Plan& plan) const {
  lt::Preference preference = nullptr;
  require(library_.create_preference(&preference), "PreferenceCreate");
  const uint64_t workspace = workspace_.bytes();
  int status = library_.set_preference(preference, lt::kMaxWorkspace, &workspace, sizeof workspace);
  for (int i = 0; i < 4 && status == lt::kSuccess; ++i) {  // D is the same matrix as C
    status = library_.set_preference(preference, lt::kAlignmentOf[i],
                                     &shape.alignment[std::min(i, 2)], sizeof(uint32_t));
  }
  lt::Heuristic found{};
  int count = 0;
  if (status == lt::kSuccess) {
    status = library_.find(handle_, operation(shape), plan.w, plan.x, plan.y, plan.y, preference, 1,
                           &found, &count);
  }
  library_.destroy_preference(preference);
  if (status != lt::kSuccess || count == 0) {
    throw std::runtime_error(
        fmt::format("{}: no algorithm for {} rows, {} outputs, {} columns (status {})",
                    library_.path, shape.rows, shape.outputs, shape.cols, status));
  }
  return found;
}

/// Layout of a matrix that is stored as [rows, cols], or as [cols, rows] if `turned`.
lt::Layout Gemm::layout(int type, int64_t rows, int64_t cols, bool turned, int64_t stride,
                        const Shape& shape, int64_t batch_offset) const {
  const auto n = [](int64_t size) { return static_cast<uint64_t>(size); };
  lt::Layout made = nullptr;
  if (turned) std::swap(rows, cols);
  require(library_.create_layout(&made, type, n(cols), n(rows), stride), "LayoutCreate");
  if (shape.batch == 1) return made;
  const int32_t batch = shape.batch;
  int status = library_.set_layout(made, lt::kBatchCount, &batch, sizeof batch);
  if (status == lt::kSuccess) {
    status = library_.set_layout(made, lt::kBatchOffset, &batch_offset, sizeof batch_offset);
  }
  if (status != lt::kSuccess) library_.destroy_layout(made);
  require(status, "LayoutSetAttribute");
  return made;
}

/// cuBLAS is column-major: y^T [outputs, rows] = w^T^T [outputs, cols] x^T [cols, rows].
Gemm::Plan Gemm::make_plan(const Shape& s) const {
  Plan plan;
  try {
    const int type = s.fp8 != 0 ? lt::kR8FE4M3 : lt::kR16BF;
    plan.w = layout(type, s.outputs, s.cols, s.w_turned != 0, s.w_stride, s, s.w_batch);
    plan.x = layout(type, s.rows, s.cols, s.x_turned != 0, s.x_stride, s, s.x_batch);
    plan.y = layout(s.bf16_out != 0 ? lt::kR16BF : lt::kR32F, s.rows, s.outputs, false, s.y_stride,
                    s, s.y_batch);
    plan.algorithm = best(s, plan).algorithm;
  } catch (...) {
    release(plan);
    throw;
  }
  return plan;
}

const Gemm::Plan& Gemm::plan_for(const Shape& shape) {
  const auto known = plans_.find(shape);
  if (known != plans_.end()) return known->second;
  if (plans_.size() >= kMostPlans) {
    for (const auto& [old, plan] : plans_) release(plan);
    plans_.clear();
  }
  return plans_.emplace(shape, make_plan(shape)).first->second;
}

Gemm::Shape Gemm::shape_of(const GemmCall& call) {
  Shape s{};
  s.rows = call.rows;
  s.outputs = call.outputs;
  s.cols = call.cols;
  s.x_turned = call.x_turned;
  s.w_turned = call.w_turned;
  s.x_stride = call.x_stride != 0 ? call.x_stride : call.x_turned ? call.rows : call.cols;
  s.w_stride = call.w_stride != 0 ? call.w_stride : call.w_turned ? call.outputs : call.cols;
  s.y_stride = call.y_stride != 0 ? call.y_stride : call.outputs;
  s.bf16_out = call.bf16_out;
  s.add = call.add;
  s.fp8 = call.x_scales != nullptr;
  s.batch = call.batch;
  if (call.batch > 1) {
    s.x_batch = call.x_batch;
    s.w_batch = call.w_batch;
    s.y_batch = call.y_batch;
  }
  s.alignment[0] = alignment_of(call.w, 2 * s.w_batch);
  s.alignment[1] = alignment_of(call.x, 2 * s.x_batch);
  s.alignment[2] = alignment_of(call.y, (call.bf16_out ? 2 : 4) * s.y_batch);
  return s;
}

void Gemm::run(Stream stream, const GemmCall& call) {
  if (call.rows == 0 || call.outputs == 0) return;
  LH_ASSERT(call.rows > 0 && call.outputs > 0 && call.cols > 0 && call.batch > 0);
  if (call.x_scales != nullptr) set_scales(call);
  const Shape s = shape_of(call);
  const Plan& plan = plan_for(s);
  const float alpha = 1, beta = call.add ? 1.0f : 0.0f;
  require(library_.multiply(handle_, operation(s), &alpha, call.w, plan.w, call.x, plan.x, &beta,
                            call.y, plan.y, call.y, plan.y, &plan.algorithm, workspace_.data(),
                            workspace_.bytes(), stream),
          "Matmul");
}

}  // namespace longhaul::cuda
