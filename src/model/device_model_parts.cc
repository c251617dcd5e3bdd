// Copies of weights that only few families have.

#include "base/error.h"
#include "base/on_device.h"
#include "base/parallel.h"
#include "model/device_model.h"
#include "ops/core/convert.h"
#include "ops/matmul/dequantize.h"

namespace longhaul {
namespace {

/// Returns an order of rows that changes the last `rope` rows of each group of `group` rows. In the
/// file, the two rows of a RoPE pair are adjacent. In the result, they are rope / 2 rows apart.
RowOrder halves_of_last(int64_t rows, int64_t group, int64_t rope) {
  RowOrder order;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t t = r % group - (group - rope), first = r - t, half = rope / 2;
    order.push_back(t < 0 ? r : first + (t < half ? 2 * t : 2 * (t - half) + 1));
  }
  return order;
}

}  // namespace

/// Copies one matrix per head h: `outputs` rows of `rows`, beginning with row first + h * stride.
std::shared_ptr<const DeviceHeads> DeviceModel::heads(const TensorView& rows, int64_t first,
                                                      int64_t stride, int64_t outputs) {
  const int64_t heads = model_.config.heads, inputs = rows.cols();
  // Without the device operation, the multiplication runs on the host, in f32.
  const bool exact = rows.type == DType::F32 || !has(kMultiplyHeads, queue_);
  const size_t row = static_cast<size_t>(inputs) * (exact ? sizeof(float) : sizeof(bf16_t));
  Buffer<std::byte> copy;
  copy.resize(static_cast<size_t>(heads * outputs) * row);
  parallel_ranges(heads * outputs, 64, [&](int64_t begin, int64_t end) {
    std::vector<float> numbers(static_cast<size_t>(inputs));
    for (int64_t r = begin; r < end; ++r) {
      std::byte* const to = copy.data() + static_cast<size_t>(r) * row;
      dequantize_row(rows.type, rows.row(first + r / outputs * stride + r % outputs), inputs,
                     numbers.data());
      if (exact) {
        std::copy_n(numbers.data(), inputs, reinterpret_cast<float*>(to));
      } else {
        f32_to_bf16(numbers.data(), inputs, reinterpret_cast<bf16_t*>(to));
      }
    }
  });
  DeviceHeads all;
  all.shape = {{}, exact ? DType::F32 : DType::BF16, heads, outputs, inputs};
  all.numbers.resize(queue_, std::ssize(copy));
  queue_.device().upload(copy.data(), all.numbers.view().address(), copy.size());
  bytes_ += copy.size();
  return std::make_shared<const DeviceHeads>(std::move(all));
}

void DeviceModel::copy_latent(const LayerWeights& from, const LayerAdapters& adapters,
                              DeviceLayer& to) {
  const ModelConfig& c = model_.config;
  const LatentShape& l = c.latent;
  const auto order = [&](int64_t rows, int64_t group) {
    return c.interleaved_rope ? halves_of_last(rows, group, l.rope) : RowOrder();
  };
  if (from.q_down.data != nullptr) {
    to.q_down = weight(from.q_down, {});
    to.q_down_norm = numbers(from.q_down_norm);
  }
  to.q = weight(from.q, {}, {}, order(from.q.rows(), l.query()));
  to.kv_down = weight(from.kv_down, {}, {}, order(from.kv_down.rows(), l.rank + l.rope));
  to.kv_down_norm = numbers(from.kv_down_norm);
  const DeviceLayer* const shared =
      base_ == nullptr ? nullptr : &base_->layer(static_cast<int>(layers_.size()) - 1);
  to.k_up = shared != nullptr ? shared->k_up : heads(from.k_up, 0, l.rank, l.rank);
  to.v_up =
      shared != nullptr ? shared->v_up : heads(from.v_up, from.v_first, from.v_stride, l.value);
  to.output = weight(from.output, adapters.output);
}

void DeviceModel::copy_apart(const LayerWeights& from, DeviceLayer& to) {
  if (!model_.config.experts_apart || from.experts.empty()) return;
  to.network_after_norm = numbers(from.network_after_norm);
  to.experts_norm = numbers(from.experts_norm);
  to.experts_after_norm = numbers(from.experts_after_norm);
  to.router_norm = numbers(from.router_norm);
  to.expert_scales = numbers(from.expert_scales);
}

void DeviceModel::copy_layer_inputs() {
  const ModelConfig& c = model_.config;
  if (c.value_norm) ones_ = numbers(std::vector<float>(static_cast<size_t>(c.head_dim), 1));
  if (c.layer_input == 0) return;
  layer_embedding_ = weight(model_.layer_embedding, {}).matrix;
  layer_projection_ = weight(model_.layer_projection, {});
  layer_projection_norm_ = numbers(model_.layer_projection_norm);
  for (size_t i = 0; i < layers_.size(); ++i) {
    const LayerWeights& from = model_.layers[i];
    layers_[i].input_gate = weight(from.input_gate, {});
    layers_[i].input_output = weight(from.input_output, {});
    layers_[i].input_norm = numbers(from.input_norm);
  }
}

}  // namespace longhaul
