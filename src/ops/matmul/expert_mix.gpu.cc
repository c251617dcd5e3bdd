#include "ops/matmul/expert_mix.gpu.h"

#include <algorithm>

#include "base/error.h"
#include "ops/core/device_room.h"
#include "ops/core/elementwise.gpu.h"
#include "ops/matmul/expand.gpu.h"

namespace longhaul::cuda {
namespace {

template <class T>
T* room_for(Room& room, int64_t count) {
  room.at_least(static_cast<size_t>(count) * sizeof(T));
  return static_cast<T*>(room.data);
}

/// Row counts are rounded up, so that similar counts share the library's plan. Results of the
/// padding are overwritten by the next expert's results or never read.
constexpr int64_t kPadding = 64;
int64_t padded(int64_t rows) { return (rows + kPadding - 1) / kPadding * kPadding; }

int64_t ffn_of(const DeviceExperts& experts) { return experts.down.weight->cols(); }

/// Bytes of an expert's bf16 matrices: gate and up together (down has half as many).
size_t bf16_bytes(const DeviceMatrix& up, int experts) {
  const int64_t rows = up.rows() / experts;
  return static_cast<size_t>(2 * rows * bf16_stride_of(up.cols())) * sizeof(uint16_t);
}

bool has_gate(const DeviceExperts& experts) { return experts.gate.weight != nullptr; }

}  // namespace

/// Whether stored matrices are faster. Stored matrices are read once per choice, or, with many
/// choices per expert, once from memory and then from the cache. Expanding reads the matrices of
/// all experts, writes them in bf16 and reads the result.
bool ExpertMix::reads_stored(int64_t rows, const DeviceExperts& experts) {
  if (rows <= kMostMatvecRows) return true;
  const auto choices = static_cast<size_t>(rows * experts.used);
  const auto count = static_cast<size_t>(experts.count);
  const size_t stored = experts.up.weight->bytes() / count;  // per expert
  const size_t bf16 = bf16_bytes(*experts.up.weight, experts.count) / 2;
  const bool expands = view_of(*experts.up.weight).bf16 == nullptr;
  return choices <= 16384 && choices * stored <= count * (stored + (expands ? 2 * bf16 : 0));
}

void ExpertMix::run(const OwnInput& x, const float* logits, const DeviceExperts& experts, float* y,
                    bool add) {
  if (x.rows() == 0) return;
  choose_experts(queue_.handle(), logits, x.rows(), experts.count, experts.used, experts.rule,
                 room_for<ExpertChoice>(chosen_, x.rows() * experts.used));
  reads_stored(x.rows(), experts) ? as_stored(x, experts, y, add) : expanded(x, experts, y, add);
}

void ExpertMix::sort(int64_t choices, int experts) {
  sorted_ = room_for<int32_t>(order_, 2 * choices + experts + 1);
  places_ = sorted_ + choices;
  begins_there_ = places_ + choices;
  sort_choices(queue_.handle(), chosen(), choices, experts, sorted_, places_, begins_there_);
}

void ExpertMix::as_stored(const OwnInput& x, const DeviceExperts& experts, float* y, bool add) {
  const Stream stream = queue_.handle();
  const int64_t count = x.rows() * experts.used, ffn = ffn_of(experts), hidden = x.cols();
  const auto job = [](const DeviceExperts::Role& role, float* to) {
    return MatvecJob{.weight = view_of(*role.weight),
                     .y = to,
                     .bias = role.bias.empty() ? nullptr : role.bias.address()};
  };
  float* const up = room_for<float>(up_, count * ffn);
  float* const gate = has_gate(experts) ? room_for<float>(gate_, count * ffn) : up;
  float* const results = room_for<float>(results_, count * hidden);
  MatvecChoices choices{chosen(), count, experts.used, experts.count};
  MatvecInput input = x.for_matvec();
  if (x.rows() > kMostMatvecRows) {  // neighbouring choices read the same matrix
    sort(count, experts.count);
    choices.order = sorted_;
    if (hidden % 32 == 0) {
      int8_.at_least(int8_bytes(x.rows(), hidden));
      input.int8 = int8_rows_in(int8_.data, x.rows(), hidden);
      round_to_int8(stream, x.bf16(), x.rows(), hidden, hidden, input.int8);
    }
  }
  std::vector<MatvecJob> in;
  if (has_gate(experts)) in.push_back(job(experts.gate, gate));
  in.push_back(job(experts.up, up));
  matvec_chosen(stream, input, choices, in);
  inner_.resize(count, ffn, true);
  if (inner_.both()) {
    swiglu(stream, gate, up, count, ffn, inner_.forms(), experts.gating);
  } else {
    swiglu(stream, gate, up, count, ffn, ffn, inner_.bf16(), experts.gating);
  }
  choices.per_row = 1;
  const MatvecJob out = job(experts.down, results);
  matvec_chosen(stream, inner_.for_matvec(), choices, {&out, 1});
  add_choices(stream, results, nullptr, x.rows(), experts.used, hidden, chosen(), y, add);
}

void ExpertMix::expanded(const OwnInput& x, const DeviceExperts& experts, float* y, bool add) {
  const int64_t count = x.rows() * experts.used, hidden = x.cols();
  sort(count, experts.count);
  begins_.resize(static_cast<size_t>(experts.count) + 1);
  queue_.download(begins_there_, begins_.data(), begins_.size() * sizeof(int32_t));
  auto* const results = room_for<uint16_t>(results_, (count + kPadding) * hidden);
  for (ExpertRange some{}; some.end < experts.count;) {
    some = next_after(some, experts);
    if (some.rows > 0) run_some(x, experts, some);
  }
  add_choices(queue_.handle(), results, places_, x.rows(), experts.used, hidden, chosen(), y, add);
}

ExpertMix::ExpertRange ExpertMix::next_after(const ExpertRange& before,
                                             const DeviceExperts& experts) const {
  const size_t each = bf16_bytes(*experts.up.weight, experts.count);
  ExpertRange some{before.end, before.end, before.row + before.rows, 0};
  do {
    some.rows += rows_of(some.end++);
  } while (some.end < experts.count && some.rows + rows_of(some.end) <= kMostExpertRows &&
           static_cast<size_t>(some.end + 1 - some.first) * each <= kMostExpandedExperts);
  return some;
}

const uint16_t* ExpertMix::expand(const DeviceExperts::Role& role, const DeviceExperts& experts,
                                  const ExpertRange& some, size_t at) {
  const MatrixView all = view_of(*role.weight);
  const int64_t outputs = all.rows / experts.count, first = some.first * outputs;
  if (all.bf16 != nullptr) return all.bf16 + first * all.bf16_stride;
  auto* const to = static_cast<uint16_t*>(expanded_.data) + at;
  expand_bf16(queue_.handle(), all, first, (some.end - some.first) * outputs, to);
  return to;
}

void ExpertMix::list_products(const uint16_t* w, int64_t outputs, int64_t w_stride,
                              const ExpertRange& some, const uint16_t* x, int64_t cols,
                              uint16_t* y) {
  int64_t row = 0;
  for (int e = some.first; e < some.end; ++e) {
    listed_.push_back(
        {w + (e - some.first) * outputs * w_stride, x + row * cols, y + row * outputs, rows_of(e)});
    row += rows_of(e);
  }
}

/// Returns null before cuBLAS 12.5. Products then run one after the other.
GroupedGemm* ExpertMix::grouped() {
  if (!looked_for_grouped_) {
    looked_for_grouped_ = true;
    try {
      grouped_ = std::make_unique<GroupedGemm>(queue_);
    } catch (const UserError&) {
    }
  }
  return grouped_.get();
}

/// Runs all listed products. The library's grouped kernel is half as fast as its kernel for one
/// product (284 against 613 TFLOP/s with Mixtral 8x7B's matrices). If an expert has as many 128 x
/// 128 tiles of results as the card has processors, products run one after the other.
void ExpertMix::multiply(int64_t outputs, int64_t cols, int64_t w_stride) {
  int64_t rows = 0;
  for (const GroupedProduct& product : listed_) rows += product.rows;
  const int64_t tiles = rows / std::ssize(listed_) * outputs / (128 * 128);
  if (tiles < queue_.processors() && grouped() != nullptr) {
    return grouped_->run(listed_, outputs, cols, w_stride);
  }
  for (const GroupedProduct& product : listed_) {
    if (product.rows == 0) continue;
    GemmCall call{.rows = padded(product.rows), .outputs = outputs, .cols = cols, .x = product.x};
    call.w = product.w;
    call.w_stride = w_stride;
    call.y = product.y;
    call.bf16_out = true;
    products_.gemm().run(queue_.handle(), call);
  }
}

void ExpertMix::add_biases(const DeviceExperts::Role& role, const DeviceExperts& experts,
                           const ExpertRange& some, uint16_t* y) {
  if (role.bias.empty()) return;
  add_chosen_bias(queue_.handle(), y, some.rows, role.weight->rows() / experts.count,
                  sorted_ + some.row, chosen(), role.bias.address());
}

void ExpertMix::run_some(const OwnInput& x, const DeviceExperts& experts, const ExpertRange& some) {
  const Stream stream = queue_.handle();
  const int64_t hidden = x.cols(), ffn = ffn_of(experts);
  const int64_t in_stride = bf16_stride_of(hidden), out_stride = bf16_stride_of(ffn);
  const int64_t in_numbers = (some.end - some.first) * ffn * in_stride;
  const int64_t out_numbers = (some.end - some.first) * hidden * out_stride;
  const auto expands = [](const DeviceExperts::Role& role) {
    return role.weight != nullptr && view_of(*role.weight).bf16 == nullptr;
  };
  if (expands(experts.gate) || expands(experts.up) || expands(experts.down)) {
    room_for<uint16_t>(expanded_, std::max(2 * in_numbers, out_numbers));
  }
  auto* const gathered = room_for<uint16_t>(gathered_, (some.rows + kPadding) * hidden);
  auto* const up = room_for<uint16_t>(up_, (some.rows + kPadding) * ffn);
  auto* const gate =
      has_gate(experts) ? room_for<uint16_t>(gate_, (some.rows + kPadding) * ffn) : up;
  gather_chosen(stream, x.bf16(), hidden, sorted_ + some.row, some.rows, experts.used, gathered);
  listed_.clear();
  if (has_gate(experts)) {
    list_products(expand(experts.gate, experts, some, 0), ffn, in_stride, some, gathered, hidden,
                  gate);
  }
  list_products(expand(experts.up, experts, some, static_cast<size_t>(in_numbers)), ffn, in_stride,
                some, gathered, hidden, up);
  multiply(ffn, hidden, in_stride);
  if (has_gate(experts)) add_biases(experts.gate, experts, some, gate);
  add_biases(experts.up, experts, some, up);
  swiglu(stream, gate, up, some.rows, ffn, ffn, gate, experts.gating);
  listed_.clear();
  auto* const results = static_cast<uint16_t*>(results_.data) + some.row * hidden;
  list_products(expand(experts.down, experts, some, 0), hidden, out_stride, some, gate, ffn,
                results);
  multiply(hidden, ffn, out_stride);
  add_biases(experts.down, experts, some, results);
}

}  // namespace longhaul::cuda
