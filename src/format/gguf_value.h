#pragma once
// Reads the scalar values of GGUF metadata, which are stored little-endian and unaligned.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace longhaul {

/// The types of values. The numbers of the enumerators are those in GGUF files.
enum class GgufType : uint32_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kString,
  kArray,
  kU64,
  kI64,
  kF64,
};
inline constexpr uint32_t kGgufTypeCount = 13;

std::string_view name_of(GgufType type);  ///< returns "u8", ..., "string", "array" or "f64"
/// Returns the size of one value in the file in bytes. The result is 0 for strings and arrays,
/// whose size varies.
size_t fixed_bytes(GgufType type);

bool is_integer(GgufType type);
bool is_number(GgufType type);  ///< returns true for integers and floats; a bool is neither

/// The value of any integer type. The sign is separate, so that all values of u64 and i64 can be
/// stored.
struct GgufInteger {
  bool negative;
  uint64_t bits;  ///< the value; in two's complement if `negative` is true
};

GgufInteger load_integer(GgufType type, const std::byte* p);  ///< requires is_integer(type)
double load_number(GgufType type, const std::byte* p);        ///< requires is_number(type)

/// Returns a number, bool or string as text. Strings are in quotes.
std::string describe_scalar(GgufType type, std::span<const std::byte> bytes);

}  // namespace longhaul
