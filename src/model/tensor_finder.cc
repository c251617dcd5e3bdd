#include "model/tensor_finder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "base/error.h"
#include "format/checkpoint.h"
#include "ops/matmul/dequantize.h"
#include "text/printable.h"

namespace longhaul {
namespace {

/// Returns whether a file may contain the tensor although it is not used. Older versions of
/// transformers saved RoPE frequencies, which can be computed from config.json. GGUF files contain
/// no such tensors, and llama.cpp rejects them too.
bool is_ignorable(std::string_view tensor, CheckpointFormat format) {
  return format == CheckpointFormat::kHuggingFace && tensor.ends_with(".rotary_emb.inv_freq");
}

std::string shape_text(const TensorView& t) {
  return fmt::format("[{}]", fmt::join(t.shape.begin(), t.shape.begin() + t.rank, ", "));
}

}  // namespace

TensorFinder::TensorFinder(const Checkpoint& checkpoint)
    : checkpoint_(checkpoint), file_(checkpoint.path().string()) {}

bool TensorFinder::has(const std::string& tensor) const {
  return checkpoint_.find(tensor) != nullptr;
}

TensorView TensorFinder::matrix(const std::string& tensor, int64_t rows, int64_t cols) {
  const TensorView& t = checkpoint_.get(tensor);
  if (t.rank != 2 || t.shape[0] != rows || t.shape[1] != cols) {
    wrong_shape(t, fmt::format("[{}, {}]", rows, cols));
  }
  used_.insert(t.name);
  TensorView weight = t;
  weight.name = {};  // the name is no longer needed, and copies of the view become cheaper
  return weight;
}

TensorView TensorFinder::matrices(const std::string& tensor, int64_t count, int64_t rows,
                                  int64_t cols) {
  const TensorView& t = checkpoint_.get(tensor);
  if (t.rank != 3 || t.shape[0] != count || t.shape[1] != rows || t.shape[2] != cols) {
    wrong_shape(t, fmt::format("[{}, {}, {}]", count, rows, cols));
  }
  used_.insert(t.name);
  TensorView weight = t;
  weight.name = {};
  weight.rank = 2;
  weight.shape = {count * rows, cols, 1, 1};
  return weight;
}

std::vector<float> TensorFinder::vector(const std::string& tensor, int64_t size) {
  const TensorView& t = checkpoint_.get(tensor);
  if (t.elements() != size || t.rank != 1) wrong_shape(t, fmt::format("[{}]", size));
  return numbers(t);
}

std::vector<float> TensorFinder::vectors(const std::string& tensor, int64_t rows, int64_t cols) {
  const TensorView& t = checkpoint_.get(tensor);
  if (t.rank != 2 || t.shape[0] != rows || t.shape[1] != cols) {
    wrong_shape(t, fmt::format("[{}, {}]", rows, cols));
  }
  return numbers(t);
}

std::vector<float> TensorFinder::numbers(const std::string& tensor, int64_t size) {
  const TensorView& t = checkpoint_.get(tensor);
  if (t.elements() != size) wrong_shape(t, fmt::format("{} numbers", size));
  return numbers(t);
}

TensorView TensorFinder::row(const std::string& tensor, int64_t cols) {
  const TensorView& t = checkpoint_.get(tensor);
  if (t.elements() != cols || t.cols() != cols) wrong_shape(t, fmt::format("[1, {}]", cols));
  used_.insert(t.name);
  TensorView weight = t;
  weight.name = {};
  weight.rank = 2;
  weight.shape = {1, cols, 1, 1};
  return weight;
}

std::vector<float> TensorFinder::numbers(const TensorView& t) {
  used_.insert(t.name);
  std::vector<float> values(static_cast<size_t>(t.elements()));
  dequantize_row(t.type, t.data, t.elements(), values.data());
  for (const float v : values) {
    if (!std::isfinite(v)) user_error("{}: tensor {} holds {}: it is damaged", file_, t.name, v);
  }
  return values;
}

bool TensorFinder::has_bytes(const std::string& tensor) const {
  return checkpoint_.find_bytes(tensor) != nullptr;
}

std::span<const std::byte> TensorFinder::bytes(const std::string& tensor,
                                               const std::vector<int64_t>& shape) {
  const UnreadableTensor* t = checkpoint_.find_bytes(tensor);
  if (t == nullptr) user_error("{}: tensor {} of type U8 is missing", file_, printable(tensor));
  if (t->shape != shape) {
    user_error("{}: tensor {} has shape [{}], expected [{}]", file_, t->name,
               fmt::join(t->shape, ", "), fmt::join(shape, ", "));
  }
  used_.insert(t->name);
  return t->bytes;
}

void TensorFinder::mark_used(std::string_view tensor) {
  used_.insert(checkpoint_.get(tensor).name);
}

void TensorFinder::leave_out(const std::string& prefix) {
  const auto mark = [&](const std::string& name) {
    if (name.starts_with(prefix)) used_.insert(name);
  };
  for (const TensorView& tensor : checkpoint_.tensors()) mark(tensor.name);
  for (const UnreadableTensor& tensor : checkpoint_.unreadable()) mark(tensor.name);
}

void TensorFinder::refuse_unused(const std::string& expected) const {
  const std::string* first = nullptr;
  size_t further = 0;
  const auto see = [&](const std::string& name) {
    if (used_.contains(name) || is_ignorable(name, checkpoint_.format())) return;
    if (first == nullptr) {
      first = &name;
    } else {
      ++further;
    }
  };
  for (const TensorView& tensor : checkpoint_.tensors()) see(tensor.name);
  for (const UnreadableTensor& tensor : checkpoint_.unreadable()) see(tensor.name);
  if (first == nullptr) return;
  user_error("{}: tensor {}{} not part of {}", file_, printable(*first),
             further == 0 ? " is" : fmt::format(" and {} more are", further), expected);
}

void TensorFinder::wrong_shape(const TensorView& tensor, const std::string& expected) const {
  user_error("{}: tensor {} has shape {}, expected {}", file_, tensor.name, shape_text(tensor),
             expected);
}

}  // namespace longhaul
