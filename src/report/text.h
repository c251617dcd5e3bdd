#pragma once
// Texts of the report: escaping, and number formats of its tables and axes.

#include <cstdint>
#include <string>
#include <string_view>

namespace longhaul {

/// For XML and HTML, in texts and attributes: & < > " ' are escaped; invalid UTF-8 and characters
/// outside XML 1.0 become U+FFFD.
std::string escape_xml(std::string_view text);

/// One field of RFC 4180: quoted if necessary. Spreadsheet formulas (= + - @ at the start of a text
/// that is not a number) get an apostrophe in front, so that they are not executed.
std::string csv_field(std::string_view text);

/// A cell of a Markdown table: pipes and HTML escaped, line breaks replaced by spaces.
std::string markdown_cell(std::string_view text);

/// At most `most` characters (code points), with "…" in place of the rest; line breaks become
/// spaces.
std::string shortened(std::string_view text, size_t most);

/// Only letters, digits, '.' and single '-', at most 120: a part of a file name; "chart" if empty.
std::string file_part(std::string_view text);

/// Adds a full stop at the end if there is none; sentence() also begins with a capital letter.
std::string full_stop(std::string_view text);
std::string sentence(std::string_view text);

std::string tokens_text(int64_t tokens);   ///< "4K" for 4096, "3,000", "1M"
std::string length_text(int64_t length);   ///< tokens_text; "own" for 0, the samples' own lengths
std::string length_title(int64_t length);  ///< "4K tokens"; "Samples of their own length"
std::string percent_text(double share);    ///< 0.956: "96"; 1: "100"; 0.0042: "0.4"
std::string p_value_text(double p);        ///< "0.013", "< 0.001"
std::string signed_points(double share);   ///< -0.35: "−35" with a true minus sign; 0.004: "+0.4"
std::string number_text(
    double value);  ///< three significant digits, no exponent in the usual range

}  // namespace longhaul
