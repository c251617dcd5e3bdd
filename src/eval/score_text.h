#pragma once
// Text functions of the scoring rules: characters, words, and the normal form of SQuAD's answers.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

/// Unicode code points; broken sequences become U+FFFD.
std::u32string to_characters(std::string_view text);
std::string to_utf8(std::u32string_view characters);

/// Unicode's simple lower-casing, character by character.
std::string lower_case(std::string_view text);

/// The text without white space at both ends, and its words between white space.
std::string_view trim(std::string_view text);
std::vector<std::string> split_words(std::string_view text);

/// Replaces every byte in `bytes` by a blank (all are ASCII, so no character is broken).
std::string blank_out(std::string_view text, std::string_view bytes);
void replace_all(std::string& text, std::string_view what, std::string_view with);

/// Runs of decimal digits of any script, as UTF-8 (Python's \d+).
std::vector<std::string> digit_runs(std::string_view text);

/// SQuAD's normal form: lower case, no ASCII punctuation, no a/an/the, words between white space.
///  Source: the SQuAD 1.1 evaluation, which LongBench and InfiniteBench repeat.
std::vector<std::string> squad_words(std::string_view text);

/// The Chinese form: lower case, no ASCII or Chinese punctuation, no white space, split into
/// characters.
std::vector<std::string> chinese_characters(std::string_view text);

}  // namespace longhaul
