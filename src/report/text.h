#pragma once
// Escapes texts of the report, and formats numbers of its tables and axes.

#include <cstdint>
#include <string>
#include <string_view>

namespace longhaul {

/// Escapes a text for XML and HTML texts and attributes (& < > " '). Invalid UTF-8 and characters
/// outside XML 1.0 become U+FFFD.
std::string escape_xml(std::string_view text);

/// Returns a text as a field of a CSV file (RFC 4180), in quotation marks if necessary. A
/// spreadsheet would execute a text that begins with = + - or @ as a formula. Such a text therefore
/// gets an apostrophe in front, unless it is a number.
std::string csv_field(std::string_view text);

/// Returns a text as a cell of a Markdown table. The character | and HTML are escaped, and line
/// breaks become spaces.
std::string markdown_cell(std::string_view text);

/// Shortens a text to at most `most` code points, with "…" in place of the rest. Line breaks become
/// spaces.
std::string shortened(std::string_view text, size_t most);

/// Converts a text so that it can be a part of a file name. The result has only letters, digits,
/// '.' and single '-', and at most 120 characters. The result is "chart" if nothing remains.
std::string file_part(std::string_view text);

/// full_stop() returns the text with a full stop at the end. sentence() also makes its first letter
/// a capital.
std::string full_stop(std::string_view text);
std::string sentence(std::string_view text);

std::string tokens_text(int64_t tokens);  ///< returns "4K" for 4096, and "3,000" for 3000
/// Like tokens_text(), but returns "own" for 0 (samples with lengths of their own).
std::string length_text(int64_t length);
/// Returns "4K tokens", for example, or "Samples of their own length" for 0.
std::string length_title(int64_t length);
/// Returns "96" for 0.956, "100" for 1, and "0.4" for 0.0042.
std::string percent_text(double share);
std::string p_value_text(double p);  ///< returns "0.013" or "< 0.001", for example
/// Returns a difference of shares in per cent with its sign: -0.35 becomes "−35" (with U+2212), and
/// 0.004 becomes "+0.4".
std::string signed_points(double share);
/// Returns a number such as "0.123", "1.23", "123" or "12,345". Numbers below 0.001 and from 10
/// million on have an exponent ("1.23e-04").
std::string number_text(double value);

}  // namespace longhaul
