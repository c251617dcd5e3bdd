#include "ops/cuda/expert_mix.h"

#include "ops/cuda/elementwise.h"

namespace longhaul::cuda {
namespace {

float* floats(Room& room, int64_t count) {
  room.at_least(static_cast<size_t>(count) * sizeof(float));
  return static_cast<float*>(room.data);
}

/// Counts of rows that differ a little share the library's plan; what the last rows hold is
/// multiplied and never read.
int64_t padded(int64_t rows) { return (rows + 63) / 64 * 64; }

int64_t ffn_of(const DeviceExperts& experts) { return experts.down.weight->cols(); }

}  // namespace

void ExpertMix::run(const OwnInput& x, const float* logits, const DeviceExperts& experts, float* y,
                    bool add) {
  if (x.rows() == 0) return;
  chosen_.at_least(static_cast<size_t>(x.rows() * experts.used) * sizeof(ExpertChoice));
  choose_experts(queue_.handle(), logits, x.rows(), experts.count, experts.used,
                 experts.among_chosen, static_cast<ExpertChoice*>(chosen_.data));
  x.rows() <= kMostMatvecRows ? few(x, experts, y, add) : many(x, experts, y, add);
}

void ExpertMix::few(const OwnInput& x, const DeviceExperts& experts, float* y, bool add) {
  const Stream stream = queue_.handle();
  const int64_t count = x.rows() * experts.used, ffn = ffn_of(experts), hidden = x.cols();
  const auto job = [](const DeviceExperts::Role& role, float* to) {
    return MatvecJob{.weight = view_of(*role.weight),
                     .y = to,
                     .bias = role.bias.empty() ? nullptr : role.bias.address()};
  };
  float* const gate = floats(gate_, count * ffn);
  float* const up = floats(up_, count * ffn);
  float* const results = floats(results_, count * hidden);
  MatvecChoices choices{chosen(), count, experts.used, experts.count};
  const MatvecJob in[] = {job(experts.gate, gate), job(experts.up, up)};
  matvec_chosen(stream, x.for_matvec(), choices, in);
  inner_.resize(count, ffn, true);
  if (inner_.both()) {
    swiglu(stream, gate, up, count, ffn, inner_.forms(), experts.gating);
  } else {
    swiglu(stream, gate, up, count, ffn, ffn, inner_.bf16(), experts.gating);
  }
  choices.per_row = 1;
  const MatvecJob out = job(experts.down, results);
  matvec_chosen(stream, inner_.for_matvec(), choices, {&out, 1});
  add_choices_of_rows(stream, results, x.rows(), experts.used, hidden, chosen(), y, add);
}

void ExpertMix::many(const OwnInput& x, const DeviceExperts& experts, float* y, bool add) {
  const int64_t count = x.rows() * experts.used, ends = experts.count + 1;
  order_.at_least(static_cast<size_t>(count + ends) * sizeof(int32_t));
  auto* const order = static_cast<int32_t*>(order_.data);
  sort_choices(queue_.handle(), chosen(), count, experts.count, order, order + count);
  begins_.resize(static_cast<size_t>(ends));
  queue_.download(order + count, begins_.data(), begins_.size() * sizeof(int32_t));
  if (!add) queue_.clear(y, static_cast<size_t>(x.rows() * x.cols()) * sizeof(float));
  for (int e = 0; e < experts.count; ++e) {
    const int32_t first = begins_[static_cast<size_t>(e)];
    const int32_t end = begins_[static_cast<size_t>(e) + 1];
    if (end > first) one_of_many(x, experts, e, order + first, end - first, y);
  }
}

/// The rows that chose one expert.
void ExpertMix::one_of_many(const OwnInput& x, const DeviceExperts& experts, int expert,
                            const int32_t* order, int64_t count, float* y) {
  const Stream stream = queue_.handle();
  const int64_t hidden = x.cols(), ffn = ffn_of(experts), rows = padded(count);
  gathered_.at_least(static_cast<size_t>(rows * hidden) * sizeof(uint16_t));
  auto* const gathered = static_cast<uint16_t*>(gathered_.data);
  gather_chosen(stream, x.bf16(), hidden, order, count, experts.used, gathered);
  const auto multiply = [&](const uint16_t* of, const DeviceExperts::Role& role, float* to) {
    const MatrixView all = view_of(*role.weight);
    const int64_t outputs = all.rows / experts.count;
    products_.many(of, rows, all.slice_rows(expert * outputs, outputs), to);
    if (role.bias.empty()) return to;
    add_bias(stream, to, role.bias.address() + expert * outputs, count, outputs, outputs);
    return to;
  };
  const float* const gate = multiply(gathered, experts.gate, floats(gate_, rows * ffn));
  const float* const up = multiply(gathered, experts.up, floats(up_, rows * ffn));
  inner_.resize(rows, ffn, false);
  swiglu(stream, gate, up, count, ffn, ffn, inner_.bf16(), experts.gating);
  const float* const results =
      multiply(inner_.bf16(), experts.down, floats(results_, rows * hidden));
  add_chosen(stream, results, hidden, order, count, experts.used, chosen(), y);
}

}  // namespace longhaul::cuda
