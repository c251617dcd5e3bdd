#include "format/gguf_value.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "text/printable.h"

namespace longhaul {
namespace {

struct TypeTraits {
  std::string_view name;
  size_t bytes;
};
constexpr std::array<TypeTraits, kGgufTypeCount> kTypes = {{
    {"u8", 1},
    {"i8", 1},
    {"u16", 2},
    {"i16", 2},
    {"u32", 4},
    {"i32", 4},
    {"f32", 4},
    {"bool", 1},
    {"string", 0},
    {"array", 0},
    {"u64", 8},
    {"i64", 8},
    {"f64", 8},
}};

template <class T>
T load(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof(T));
  return value;
}

}  // namespace

std::string_view name_of(GgufType type) { return kTypes[static_cast<size_t>(type)].name; }
size_t fixed_bytes(GgufType type) { return kTypes[static_cast<size_t>(type)].bytes; }

bool is_integer(GgufType type) {
  switch (type) {
    case GgufType::kF32:
    case GgufType::kF64:
    case GgufType::kBool:
    case GgufType::kString:
    case GgufType::kArray:
      return false;
    default:
      return true;
  }
}

GgufInteger load_integer(GgufType type, const std::byte* p) {
  const auto from_signed = [](int64_t v) { return GgufInteger{v < 0, static_cast<uint64_t>(v)}; };
  switch (type) {
    case GgufType::kU8:
      return {false, load<uint8_t>(p)};
    case GgufType::kU16:
      return {false, load<uint16_t>(p)};
    case GgufType::kU32:
      return {false, load<uint32_t>(p)};
    case GgufType::kU64:
      return {false, load<uint64_t>(p)};
    case GgufType::kI8:
      return from_signed(load<int8_t>(p));
    case GgufType::kI16:
      return from_signed(load<int16_t>(p));
    case GgufType::kI32:
      return from_signed(load<int32_t>(p));
    default:
      return from_signed(load<int64_t>(p));
  }
}

double load_number(GgufType type, const std::byte* p) {
  if (type == GgufType::kF32) return static_cast<double>(load<float>(p));
  if (type == GgufType::kF64) return load<double>(p);
  const GgufInteger v = load_integer(type, p);
  return v.negative ? static_cast<double>(static_cast<int64_t>(v.bits))
                    : static_cast<double>(v.bits);
}

bool is_number(GgufType type) {
  return is_integer(type) || type == GgufType::kF32 || type == GgufType::kF64;
}

std::string describe_scalar(GgufType type, std::span<const std::byte> bytes) {
  if (type == GgufType::kString)
    return printable({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (type == GgufType::kBool) return load<uint8_t>(bytes.data()) != 0 ? "true" : "false";
  if (type == GgufType::kF32) return fmt::format("{}", load<float>(bytes.data()));
  if (type == GgufType::kF64) return fmt::format("{}", load<double>(bytes.data()));
  const GgufInteger v = load_integer(type, bytes.data());
  return v.negative ? fmt::format("{}", static_cast<int64_t>(v.bits)) : fmt::format("{}", v.bits);
}

}  // namespace longhaul
