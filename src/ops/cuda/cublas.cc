#include "ops/cuda/cublas.h"

#include <algorithm>

#include "base/error.h"

namespace longhaul::cuda {
namespace {

constexpr size_t kMostPlans = 512;  // a prompt's last pass may have any number of rows

/// The largest power of two up to 256 that divides the address.
uint32_t alignment_of(const void* p) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  return static_cast<uint32_t>(std::min<uintptr_t>(address & (~address + 1), 256));
}

}  // namespace

Gemm::Gemm(const CublasLibrary& library, size_t workspace_bytes)
    : library_(library), workspace_(workspace_bytes) {
  if (const int status = library_.create(&handle_); status != lt::kSuccess) {
    user_error("{}: cublasLtCreate fails with status {}: does its version fit the driver's?",
               library_.path, status);
  }
  require(library_.create_operation(&operation_, lt::kCompute32F, lt::kR32F), "DescCreate");
  const int32_t transposed = lt::kTransposed;
  require(library_.set_operation(operation_, lt::kTransA, &transposed, sizeof transposed),
          "DescSetAttribute");
}

Gemm::~Gemm() {
  for (const auto& [shape, plan] : plans_) release(plan);
  if (operation_ != nullptr) library_.destroy_operation(operation_);
  if (handle_ != nullptr) library_.destroy(handle_);
}

void Gemm::require(int status, const char* what) const {
  if (status == lt::kSuccess) return;
  throw std::runtime_error(fmt::format("{}: {} fails with status {}", library_.path, what, status));
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
  for (int i = 0; i < 4 && status == lt::kSuccess; ++i) {  // D is C
    status = library_.set_preference(preference, lt::kAlignmentOf[i],
                                     &shape.alignment[std::min(i, 2)], sizeof(uint32_t));
  }
  lt::Heuristic found{};
  int count = 0;
  if (status == lt::kSuccess) {
    status = library_.find(handle_, operation_, plan.w, plan.x, plan.y, plan.y, preference, 1,
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

/// cuBLAS counts columns first: y^T [outputs, rows] = w^T^T [outputs, cols] x^T [cols, rows].
Gemm::Plan Gemm::make_plan(const Shape& s) const {
  const auto n = [](int64_t size) { return static_cast<uint64_t>(size); };
  Plan plan;
  try {
    const int out = s.bf16_out != 0 ? lt::kR16BF : lt::kR32F;
    require(library_.create_layout(&plan.w, lt::kR16BF, n(s.cols), n(s.outputs), s.w_stride),
            "LayoutCreate");
    require(library_.create_layout(&plan.x, lt::kR16BF, n(s.cols), n(s.rows), s.x_stride),
            "LayoutCreate");
    require(library_.create_layout(&plan.y, out, n(s.outputs), n(s.rows), s.y_stride),
            "LayoutCreate");
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

void Gemm::run(Stream stream, const GemmCall& call) {
  if (call.rows == 0 || call.outputs == 0) return;
  LH_ASSERT(call.rows > 0 && call.outputs > 0 && call.cols > 0);
  Shape s{};
  s.rows = call.rows;
  s.outputs = call.outputs;
  s.cols = call.cols;
  s.x_stride = call.x_stride != 0 ? call.x_stride : call.cols;
  s.w_stride = call.w_stride != 0 ? call.w_stride : call.cols;
  s.y_stride = call.y_stride != 0 ? call.y_stride : call.outputs;
  s.bf16_out = call.bf16_out;
  s.add = call.add;
  s.alignment[0] = alignment_of(call.w);
  s.alignment[1] = alignment_of(call.x);
  s.alignment[2] = alignment_of(call.y);
  const Plan& plan = plan_for(s);
  const float alpha = 1, beta = call.add ? 1.0f : 0.0f;
  require(library_.multiply(handle_, operation_, &alpha, call.w, plan.w, call.x, plan.x, &beta,
                            call.y, plan.y, call.y, plan.y, &plan.algorithm, workspace_.data(),
                            workspace_.bytes(), stream),
          "Matmul");
}

}  // namespace longhaul::cuda
