#include "attention/key_vectors.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/byte_stream.h"
#include "base/error.h"
#include "ops/convert.h"

namespace longhaul {
namespace {

bool known(DType type) { return type == DType::BF16 || type == DType::F32 || type == DType::Q4_0; }

/// Damaged weights make numbers that are too large, and what is none.
void append_q4_0(std::span<const float> elements, std::byte* to) {
  constexpr float kLargest = KeyVectors::kLargestQ4_0;
  std::vector<float> held(elements.begin(), elements.end());
  for (float& x : held) x = std::isnan(x) ? 0 : std::clamp(x, -kLargest, kLargest);
  quantize_q4_0(held.data(), static_cast<int64_t>(held.size()), to);
}

}  // namespace

void KeyVectors::append(std::span<const float> elements, DType type) {
  LH_ASSERT(known(type) && takes(type));
  type_ = type;
  const size_t at = bytes_.size();
  bytes_.resize(at + bytes_of(type, static_cast<int64_t>(elements.size())));
  if (type == DType::F32) {
    std::memcpy(bytes_.data() + at, elements.data(), elements.size_bytes());
  } else if (type == DType::Q4_0) {
    append_q4_0(elements, reinterpret_cast<std::byte*>(bytes_.data() + at));
  } else {
    f32_to_bf16(elements.data(), static_cast<int64_t>(elements.size()),
                reinterpret_cast<bf16_t*>(bytes_.data() + at));
  }
}

int64_t KeyVectors::elements() const {
  const int64_t block = traits(type_).block_size;
  return static_cast<int64_t>(bytes_.size() / bytes_of(type_, block)) * block;
}

void KeyVectors::read(int64_t first, std::span<float> out) const {
  const auto count = static_cast<int64_t>(out.size());
  LH_ASSERT(first + count <= elements() && type_ != DType::Q4_0);
  const uint8_t* from = bytes_.data() + bytes_of(type_, first);
  if (type_ == DType::F32) {
    std::memcpy(out.data(), from, out.size_bytes());
  } else {
    bf16_to_f32(reinterpret_cast<const bf16_t*>(from), count, out.data());
  }
}

TensorView KeyVectors::rows(int64_t width) const {
  LH_ASSERT(elements() % width == 0);
  TensorView view;
  view.data = reinterpret_cast<const std::byte*>(bytes_.data());
  view.type = type_;
  view.rank = 2;
  view.shape = {elements() / width, width, 1, 1};
  return view;
}

void KeyVectors::save(ByteWriter& out) const {
  out.number(static_cast<uint8_t>(type_));
  out.array(std::span<const uint8_t>(bytes_));
}

void KeyVectors::restore(ByteReader& in) {
  type_ = static_cast<DType>(in.number<uint8_t>());
  const std::vector<uint8_t> bytes = in.array<uint8_t>();
  bytes_.assign(bytes.begin(), bytes.end());
  if (!known(type_) || bytes_.size() % bytes_of(type_, traits(type_).block_size) != 0) {
    user_error("{}: damaged: an index of another type", in.path().string());
  }
}

}  // namespace longhaul
