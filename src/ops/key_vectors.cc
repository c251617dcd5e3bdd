#include "ops/key_vectors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "ops/convert.h"

namespace longhaul {
namespace {

bool known(DType type) { return type == DType::BF16 || type == DType::F32 || type == DType::Q4_0; }

/// Damaged weights make numbers that are too large, and what is none.
void append_q4_0(std::span<const float> elements, std::byte* to) {
  constexpr float kLargest = KeyVectors::kLargestQ4_0;
  thread_local std::vector<float> held;
  held.assign(elements.begin(), elements.end());
  for (float& x : held) x = std::isnan(x) ? 0 : std::clamp(x, -kLargest, kLargest);
  quantize_q4_0(held.data(), static_cast<int64_t>(held.size()), to);
}

}  // namespace

void KeyVectors::append(Queue& queue, View<const float> elements, DType type) {
  if (!queue.on_host()) {
    HostStage on(queue);
    return append(host_queue(), on(elements), type);
  }
  LH_ASSERT(known(type) && takes(type));
  type_ = type;
  const size_t at = bytes_.size();
  const std::span<const float> from = host(elements);
  bytes_.resize(at + bytes_of(type, elements.size()));
  if (type == DType::F32) {
    std::memcpy(bytes_.data() + at, from.data(), from.size_bytes());
  } else if (type == DType::Q4_0) {
    append_q4_0(from, reinterpret_cast<std::byte*>(bytes_.data() + at));
  } else {
    f32_to_bf16(from.data(), elements.size(), reinterpret_cast<bf16_t*>(bytes_.data() + at));
  }
}

int64_t KeyVectors::elements() const {
  const int64_t block = traits(type_).block_size;
  return static_cast<int64_t>(bytes_.size() / bytes_of(type_, block)) * block;
}

void KeyVectors::read(Queue& queue, int64_t first, View<float> out) const {
  if (!queue.on_host()) {
    HostStage on(queue);
    return read(host_queue(), first, on(out));
  }
  LH_ASSERT(first + out.size() <= elements() && type_ != DType::Q4_0);
  const uint8_t* from = bytes_.data() + bytes_of(type_, first);
  const std::span<float> to = host(out);
  if (type_ == DType::F32) {
    std::memcpy(to.data(), from, to.size_bytes());
  } else {
    bf16_to_f32(reinterpret_cast<const bf16_t*>(from), out.size(), to.data());
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

void KeyVectors::archive(Archive& archive) {
  auto type = static_cast<uint8_t>(type_);
  archive.number(type);
  if (!archive.loading()) return archive.out().array(std::span<const uint8_t>(bytes_));
  type_ = static_cast<DType>(type);
  const std::vector<uint8_t> bytes = archive.in().array<uint8_t>();
  bytes_.assign(bytes.begin(), bytes.end());
  archive.expect(known(type_) && bytes_.size() % bytes_of(type_, traits(type_).block_size) == 0,
                 "an index of another type");
}

}  // namespace longhaul
