#pragma once
// Escapes texts of the report, and formats numbers of its tables and axes.

#include <cstdint>
#include <string>
#include <string_view>

namespace longhaul {

/// Escapes a text for XML and HTML texts and attributes (& < > " '). Invalid UTF-8 and characters
/// outside XML 1.0 become U+FFFD.
std::string escape_xml(std::string_view text);

/// Returns a field of a CSV file (RFC 4180), quoted if necessary. Spreadsheet formulas (= + - @ at
/// the start of a text that is not a number) get an apostrophe in front, so that they are not
/// executed.
std::string csv_field(std::string_view text);

/// Returns a cell of a Markdown table. Pipes and HTML are escaped, and line breaks become spaces.
std::string markdown_cell(std::string_view text);

/// Shortens a text to at most `most` code points, with "…" in place of the rest. Line breaks become
/// spaces.
std::string shortened(std::string_view text, size_t most);

/// Converts a text to a part of a file name, which has only letters, digits, '.' and single '-',
/// and at most 120 characters. The result is "chart" if nothing remains.
std::string file_part(std::string_view text);

/// Adds a full stop at the end if there is none. sentence() also makes the first letter a capital.
std::string full_stop(std::string_view text);
std::string sentence(std::string_view text);

std::string tokens_text(int64_t tokens);  ///< returns "4K" for 4096, for example, "3,000" or "1M"
/// Like tokens_text(), but returns "own" for 0 (samples with lengths of their own).
std::string length_text(int64_t length);
/// Returns "4K tokens", for example, or "Samples of their own length" for 0.
std::string length_title(int64_t length);
/// Returns "96" for 0.956, "100" for 1, and "0.4" for 0.0042.
std::string percent_text(double share);
std::string p_value_text(double p);  ///< returns "0.013" or "< 0.001", for example
/// Formats a share in points: -0.35 becomes "−35" with a true minus sign, and 0.004 becomes "+0.4".
std::string signed_points(double share);
std::string number_text(
    double value);  ///< three significant digits, no exponent in the usual range

}  // namespace longhaul
