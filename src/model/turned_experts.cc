#include "model/turned_experts.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"

namespace longhaul {
namespace {

constexpr int64_t kBlock = 32;  // number of weights in a block of MXFP4
// Size of a block: one byte for the exponent, and 16 bytes with two weights each.
constexpr int64_t kBlockBytes = 17;

/// The rows `first`, `first` + `step`, ... of each expert's matrix, `count` rows in total.
struct ExpertRows {
  int64_t first = 0, step = 1, count = 0;
};

class TurnedExperts {
 public:
  TurnedExperts(int64_t experts, TensorFinder& tensors, std::vector<Buffer<std::byte>>& memory)
      : experts_(experts), tensors_(tensors), memory_(memory) {}

  /// Returns rows of the matrices [outputs, inputs] of all experts, [experts * rows.count, inputs].
  TensorView rows(const std::string& name, int64_t outputs, int64_t inputs,
                  const ExpertRows& rows) {
    if (tensors_.has_bytes(name + "_blocks")) return of_blocks(name, outputs, inputs, rows);
    const TensorView all = tensors_.matrices(name, experts_, inputs, outputs);
    // Hugging Face folders contain no quantization blocks.
    const size_t size = bytes_of(all.type, 1);
    std::byte* const to = room(static_cast<size_t>(rows.count * inputs) * size);
    parallel_ranges(experts_ * rows.count, 16, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t output = rows.first + r % rows.count * rows.step;
        const std::byte* from = all.row(r / rows.count * inputs) + output * ssize(size);
        std::byte* row = to + r * inputs * ssize(size);
        for (int64_t i = 0; i < inputs; ++i) {
          std::memcpy(row + i * ssize(size), from + i * outputs * ssize(size), size);
        }
      }
    });
    return view(all.type, to, rows.count, inputs);
  }

 private:
  static int64_t ssize(size_t size) { return static_cast<int64_t>(size); }

  std::byte* room(size_t bytes_of_expert) {
    Buffer<std::byte> memory;
    memory.resize(static_cast<size_t>(experts_) * bytes_of_expert);
    std::byte* const to = memory.data();
    memory_.push_back(std::move(memory));
    return to;
  }

  TensorView view(DType type, const std::byte* data, int64_t count, int64_t inputs) const {
    return {data, type, 2, {experts_ * count, inputs, 1, 1}, {}};
  }

  /// Converts a block. In the file, byte i holds weights 2 i and 2 i + 1. In a block of MXFP4, it
  /// holds weights i and i + 16.
  static void pack(const uint8_t* file, uint8_t scale, uint8_t* block) {
    block[0] = scale;
    const auto weight = [&](int i) -> uint8_t { return file[i / 2] >> (i % 2 * 4) & 15; };
    for (int i = 0; i < 16; ++i) {
      block[i + 1] = static_cast<uint8_t>(weight(i) | weight(i + 16) << 4);
    }
  }

  TensorView of_blocks(const std::string& name, int64_t outputs, int64_t inputs,
                       const ExpertRows& rows) {
    const int64_t blocks = inputs / kBlock;
    const auto weights = tensors_.bytes(name + "_blocks", {experts_, outputs, blocks, 16});
    const auto scales = tensors_.bytes(name + "_scales", {experts_, outputs, blocks});
    const auto* const from = reinterpret_cast<const uint8_t*>(weights.data());
    const auto* const scale = reinterpret_cast<const uint8_t*>(scales.data());
    std::byte* const to = room(static_cast<size_t>(rows.count * blocks * kBlockBytes));
    parallel_ranges(experts_ * rows.count, 64, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t output = rows.first + r % rows.count * rows.step;
        const int64_t file = (r / rows.count * outputs + output) * blocks;
        auto* block = reinterpret_cast<uint8_t*>(to) + r * blocks * kBlockBytes;
        for (int64_t b = file; b < file + blocks; ++b, block += kBlockBytes) {
          pack(from + b * 16, scale[b], block);
        }
      }
    });
    return view(DType::MXFP4, to, rows.count, inputs);
  }

  int64_t experts_;
  TensorFinder& tensors_;
  std::vector<Buffer<std::byte>>& memory_;
};

/// Loads the biases of the experts. In the file, those of gate and up alternate in one vector per
/// expert.
void load_turned_biases(const std::string& gate_up, const std::string& down, const ModelConfig& c,
                        TensorFinder& tensors, std::vector<ExpertWeights>& experts) {
  const int64_t ffn = c.ffn, hidden = c.hidden;
  const auto both = tensors.vectors(gate_up + "_bias", c.experts, 2 * ffn);
  const auto last = tensors.vectors(down + "_bias", c.experts, hidden);
  for (int64_t e = 0; e < c.experts; ++e) {
    ExpertWeights& expert = nth(experts, e);
    for (int64_t i = 0; i < ffn; ++i) {
      expert.gate_bias.push_back(nth(both, (e * ffn + i) * 2));
      expert.up_bias.push_back(nth(both, (e * ffn + i) * 2 + 1));
    }
    expert.down_bias.assign(last.begin() + e * hidden, last.begin() + (e + 1) * hidden);
  }
}

}  // namespace

void load_turned_experts(const TensorNames& names, const ModelConfig& c, int layer,
                         TensorFinder& tensors, std::vector<Buffer<std::byte>>& memory,
                         LayerWeights& w) {
  const std::string gate_up = of_layer(names.experts_gate_up, layer);
  const std::string down = of_layer(names.experts_down_beside, layer);
  const bool woven = c.expert_order == ExpertOrder::kWovenColumns;
  const int64_t ffn = c.ffn, hidden = c.hidden, step = woven ? 2 : 1;
  TurnedExperts turned(c.experts, tensors, memory);
  const TensorView gates = turned.rows(gate_up, 2 * ffn, hidden, {0, step, ffn});
  const TensorView ups = turned.rows(gate_up, 2 * ffn, hidden, {woven ? 1 : ffn, step, ffn});
  const TensorView downs = turned.rows(down, hidden, ffn, {0, 1, hidden});
  for (int64_t e = 0; e < c.experts; ++e) {
    ExpertWeights& expert = nth(w.experts, e);
    expert.gate = gates.slice_rows(e * ffn, ffn);
    expert.up = ups.slice_rows(e * ffn, ffn);
    expert.down = downs.slice_rows(e * hidden, hidden);
  }
  if (c.biases) load_turned_biases(gate_up, down, c, tensors, w.experts);
}

}  // namespace longhaul
