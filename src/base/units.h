#pragma once
// Formatting of numbers for people.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace longhaul {

/// "913 B", "1.4 KiB", "188.7 MiB", "3.2 GiB".
std::string format_bytes(size_t bytes);

/// "12 ms", "3.4 s", "2 min 05 s", "1 h 10 min".
std::string format_seconds(double seconds);

/// "12,345".
std::string with_commas(int64_t number);

/// "1 answer", "12,345 answers".
std::string counted(int64_t number, std::string_view noun);

/// "8192", or a number with a suffix, which is a power of 1024: "512M", "2.5GiB", "100KB".
/// Thousands separators are not accepted. Empty if it is not a size.
std::optional<size_t> parse_bytes(std::string_view text);

}  // namespace longhaul
