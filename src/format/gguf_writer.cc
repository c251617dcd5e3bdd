#include "format/gguf_writer.h"

#include <string_view>
#include <type_traits>

#include "base/error.h"
#include "format/gguf_tensor_type.h"

namespace longhaul {
namespace {

constexpr uint32_t kVersion = 3;

template <class T>
void put(std::string& out, T value) {
  static_assert(std::is_arithmetic_v<T>);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_bytes(std::string& out, std::span<const std::byte> bytes) {
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void put_string(std::string& out, std::string_view text) {
  put<uint64_t>(out, text.size());
  out += text;
}

void put_entry(std::string& out, const GgufEntry& entry) {
  put_string(out, entry.key);
  put(out, static_cast<uint32_t>(entry.type));
  if (entry.type == GgufType::kArray) {
    put(out, static_cast<uint32_t>(entry.array.element));
    put(out, entry.array.count);
    put_bytes(out, entry.array.bytes);
    return;
  }
  if (entry.type == GgufType::kString) put<uint64_t>(out, entry.bytes.size());
  put_bytes(out, entry.bytes);
}

void put_tensor(std::string& out, const TensorView& tensor, uint64_t offset) {
  put_string(out, tensor.name);
  put(out, static_cast<uint32_t>(tensor.rank));
  for (int d = tensor.rank; d-- > 0;) {  // the fastest dimension first
    put(out, static_cast<uint64_t>(tensor.shape[static_cast<size_t>(d)]));
  }
  put(out, ggml_from_dtype(tensor.type));
  put(out, offset);
}

}  // namespace

uint64_t gguf_alignment(const GgufMetadata& metadata) {
  constexpr uint64_t kDefault = 32, kLargest = 1 << 20;
  const uint64_t alignment = metadata.find_u64("general.alignment").value_or(kDefault);
  const bool power_of_two = alignment != 0 && (alignment & (alignment - 1)) == 0;
  if (!power_of_two || alignment < 8 || alignment > kLargest) {
    user_error("{}: general.alignment is {}: it must be a power of two from 8 to {}",
               metadata.file(), alignment, kLargest);
  }
  return alignment;
}

std::string gguf_header(std::span<const GgufEntry> metadata, std::span<const TensorView> tensors,
                        uint64_t alignment) {
  std::string out = "GGUF";
  put(out, kVersion);
  put<uint64_t>(out, tensors.size());
  put<uint64_t>(out, metadata.size());
  for (const GgufEntry& entry : metadata) put_entry(out, entry);
  uint64_t offset = 0;
  for (const TensorView& tensor : tensors) {
    put_tensor(out, tensor, offset);
    offset += tensor.bytes() + gguf_padding(tensor.bytes(), alignment);
  }
  out.append(gguf_padding(out.size(), alignment), '\0');
  return out;
}

}  // namespace longhaul
