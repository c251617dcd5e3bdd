#pragma once
// Formats numbers for users, and parses sizes.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace longhaul {

/// Returns a size such as "913 B", "1.4 KiB", "188.7 MiB" or "3.2 GiB".
std::string format_bytes(size_t bytes);

/// Returns a duration such as "12 ms", "3.4 s", "2 min 05 s" or "1 h 10 min".
std::string format_seconds(double seconds);

/// Returns a number with thousands separators, such as "12,345".
std::string with_commas(int64_t number);

/// Returns a number with a noun, such as "1 answer" or "12,345 answers".
std::string counted(int64_t number, std::string_view noun);

/// Parses a size: a number of bytes such as "8192", or a number with a suffix that is a power of
/// 1024, such as "512M", "2.5GiB" or "100KB". Thousands separators are not accepted. Returns
/// nothing if the text is not a size.
std::optional<size_t> parse_bytes(std::string_view text);

}  // namespace longhaul
