#include "format/safetensors_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "format/byte_cursor.h"
#include "format/safetensors_header.h"
#include "text/printable.h"

namespace longhaul {
namespace {

constexpr uint64_t kLargestHeader = 100'000'000;  // the reference implementation's limit

struct StoredType {
  std::string_view name;
  uint64_t bits;
  std::optional<DType> dtype;
};
constexpr std::array<StoredType, 17> kStoredTypes = {{
    {"F32", 32, DType::F32},
    {"F16", 16, DType::F16},
    {"BF16", 16, DType::BF16},
    {"F64", 64, {}},
    {"I64", 64, {}},
    {"U64", 64, {}},
    {"I32", 32, {}},
    {"U32", 32, {}},
    {"I16", 16, {}},
    {"U16", 16, {}},
    {"I8", 8, {}},
    {"U8", 8, {}},
    {"BOOL", 8, {}},
    {"F8_E4M3", 8, {}},
    {"F8_E5M2", 8, {}},
    {"F8_E8M0", 8, {}},
    {"C64", 64, {}},
}};

const StoredType* stored_type(std::string_view name) {
  const auto* found = std::find_if(kStoredTypes.begin(), kStoredTypes.end(),
                                   [&](const StoredType& t) { return t.name == name; });
  return found == kStoredTypes.end() ? nullptr : found;
}

std::string_view header_text(ByteCursor& reader, std::span<const std::byte> bytes) {
  constexpr std::string_view kLfs = "version https://git-lfs";
  const std::string_view start{reinterpret_cast<const char*>(bytes.data()),
                               std::min<size_t>(bytes.size(), kLfs.size())};
  if (start == kLfs) {
    user_error("{}: a Git LFS pointer, not the model itself: run `git lfs pull`", reader.file());
  }
  const auto length = reader.read<uint64_t>("header length");
  if (length > kLargestHeader) {
    user_error("{}: not a safetensors file: a header of {} bytes (at most {} are possible)",
               reader.file(), length, kLargestHeader);
  }
  const auto text = reader.take(length, "header");
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

/// The tensors must fill the data part without gaps.
void check_layout(const std::vector<SafetensorsEntry>& entries, uint64_t data_bytes,
                  const std::string& file) {
  uint64_t expected = 0;
  for (const SafetensorsEntry& e : entries) {
    if (e.begin != expected || e.end < e.begin || e.end > data_bytes) {
      user_error("{}: tensor {}: data_offsets [{}, {}] do not follow byte {} of {} bytes of data",
                 file, printable(e.name), e.begin, e.end, expected, data_bytes);
    }
    expected = e.end;
  }
  if (expected != data_bytes) {
    user_error("{}: {} bytes of data, of which its tensors take {}", file, data_bytes, expected);
  }
}

void check_size(const SafetensorsEntry& e, const StoredType& type, const std::string& file) {
  const auto count = element_count(e.shape);
  uint64_t bytes = 0;
  const bool overflow =
      !count || __builtin_mul_overflow(static_cast<uint64_t>(*count), type.bits / 8, &bytes);
  if (overflow || bytes != e.end - e.begin) {
    user_error("{}: tensor {}: shape [{}] of {} does not fit its {} bytes", file, printable(e.name),
               fmt::join(e.shape, ", "), e.dtype, e.end - e.begin);
  }
}

/// The reason why the tensor cannot be viewed; empty if it can.
std::string unreadable_reason(const SafetensorsEntry& e, const StoredType* type,
                              const std::byte* data) {
  if (type == nullptr || !type->dtype) {
    return fmt::format("has type {}; F32, F16 and BF16 can be read", printable(e.dtype));
  }
  if (e.shape.size() > 4)
    return fmt::format("has {} dimensions; at most 4 can be read", e.shape.size());
  if (reinterpret_cast<uintptr_t>(data) % (type->bits / 8) != 0) {
    return fmt::format("begins at an address that {} cannot be read from; write the file anew",
                       e.dtype);
  }
  return {};
}

}  // namespace

TensorList read_safetensors(std::span<const std::byte> bytes, const std::string& file) {
  ByteCursor reader(bytes, file);
  const std::string_view header = header_text(reader, bytes);
  const auto data = bytes.subspan(reader.position());
  std::vector<SafetensorsEntry> entries = parse_safetensors_header(header, file);
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  check_layout(entries, data.size(), file);
  TensorList list;
  for (SafetensorsEntry& e : entries) {
    const StoredType* type = stored_type(e.dtype);
    if (type != nullptr) check_size(e, *type, file);
    const std::byte* begin = data.data() + e.begin;
    if (std::string reason = unreadable_reason(e, type, begin); !reason.empty()) {
      UnreadableTensor& tensor = list.unreadable.emplace_back();
      tensor.name = std::move(e.name);
      tensor.file = file;
      tensor.reason = std::move(reason);
      if (e.dtype != "U8") continue;
      tensor.shape.assign(e.shape.begin(), e.shape.end());
      tensor.bytes = data.subspan(e.begin, e.end - e.begin);
      continue;
    }
    TensorView view{begin, *type->dtype, static_cast<int>(e.shape.size()), {1, 1, 1, 1}, {}};
    std::copy(e.shape.begin(), e.shape.end(), view.shape.begin());
    view.name = std::move(e.name);
    list.tensors.push_back(std::move(view));
  }
  return list;
}

}  // namespace longhaul
