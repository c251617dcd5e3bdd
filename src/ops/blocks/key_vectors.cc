#include "ops/blocks/key_vectors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "base/on_device.h"
#include "ops/core/convert.h"

namespace longhaul {
namespace {

bool known(DType type) { return type == DType::BF16 || type == DType::F32 || type == DType::Q4_0; }

/// Damaged weights can cause values that are too large, and NaN.
void write_q4_0(std::span<const float> elements, std::byte* to) {
  constexpr float kLargest = KeyVectors::kLargestQ4_0;
  thread_local std::vector<float> held;
  held.assign(elements.begin(), elements.end());
  for (float& x : held) x = std::isnan(x) ? 0 : std::clamp(x, -kLargest, kLargest);
  quantize_q4_0(held.data(), static_cast<int64_t>(held.size()), to);
}

}  // namespace

void store_vectors(Queue& queue, View<const float> elements, DType type, View<uint8_t> to) {
  LH_ASSERT(known(type) && static_cast<size_t>(to.size()) == bytes_of(type, elements.size()));
  if (on_device(kStoreVectors, queue, elements, type, to)) return;
  HostStage on(queue);
  const std::span<const float> from = host(on(elements));
  uint8_t* const bytes = host(on(to)).data();
  if (type == DType::F32) {
    std::memcpy(bytes, from.data(), from.size_bytes());
  } else if (type == DType::Q4_0) {
    write_q4_0(from, reinterpret_cast<std::byte*>(bytes));
  } else {
    f32_to_bf16(from.data(), elements.size(), reinterpret_cast<bf16_t*>(bytes));
  }
}

void round_for_device(Queue& queue, View<const float> queries, Array<uint8_t>& memory) {
  if (queue.on_host()) return;
  const auto bytes = static_cast<int64_t>(bytes_of(DType::BF16, queries.size()));
  store_vectors(queue, queries, DType::BF16, memory.resize(queue, bytes));
}

void KeyVectors::append(Queue& queue, View<const float> elements, DType type) {
  LH_ASSERT(takes(type));
  type_ = type;
  const auto bytes = static_cast<int64_t>(bytes_of(type, elements.size()));
  store_vectors(queue, elements, type, bytes_.append_zeros(queue, bytes));
}

int64_t KeyVectors::elements() const {
  const int64_t block = traits(type_).block_size;
  return static_cast<int64_t>(bytes() / bytes_of(type_, block)) * block;
}

void KeyVectors::read(int64_t first, std::span<float> out) const {
  LH_ASSERT(first + std::ssize(out) <= elements() && type_ != DType::Q4_0);
  const uint8_t* from = host(stored()).data() + bytes_of(type_, first);
  if (type_ == DType::F32) {
    std::memcpy(out.data(), from, out.size_bytes());
  } else {
    bf16_to_f32(reinterpret_cast<const bf16_t*>(from), std::ssize(out), out.data());
  }
}

TensorView KeyVectors::rows(int64_t width) const {
  LH_ASSERT(elements() % width == 0);
  TensorView view;
  view.data = reinterpret_cast<const std::byte*>(host(stored()).data());
  view.type = type_;
  view.rank = 2;
  view.shape = {elements() / width, width, 1, 1};
  return view;
}

void KeyVectors::archive(Archive& archive) {
  auto type = static_cast<uint8_t>(type_);
  archive.number(type);
  type_ = static_cast<DType>(type);
  bytes_.archive(archive);
  archive.expect(known(type_) && bytes() % bytes_of(type_, traits(type_).block_size) == 0,
                 "an index of another type");
}

}  // namespace longhaul
