#pragma once
// Provides text functions for the scoring rules: conversion to characters and words, and
// normalisation as in SQuAD.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

/// Converts UTF-8 to code points. Invalid sequences become U+FFFD.
std::u32string to_characters(std::string_view text);
std::string to_utf8(std::u32string_view characters);

/// Converts the text to lower case, character by character (Unicode's simple mapping).
std::string lower_case(std::string_view text);

/// Returns the text without white space at both ends.
std::string_view trim(std::string_view text);
/// Returns the words of the text, which are separated by white space.
std::vector<std::string> split_words(std::string_view text);

/// Returns the text with every byte that occurs in `bytes` replaced by a space. `bytes` must be
/// ASCII, so that no multi-byte character is damaged.
std::string blank_out(std::string_view text, std::string_view bytes);
void replace_all(std::string& text, std::string_view what, std::string_view with);

/// Returns all sequences of decimal digits, as UTF-8. Digits of all scripts are included, as in \d+
/// of Python.
std::vector<std::string> digit_runs(std::string_view text);

/// Returns the words of the text as SQuAD normalises them. The text is converted to lower case and
/// split at white space, and ASCII punctuation and the words a, an and the are removed.
///  Source: the SQuAD 1.1 evaluation, which LongBench and InfiniteBench repeat.
std::vector<std::string> squad_words(std::string_view text);

/// Returns the characters of a Chinese text in lower case, without ASCII or Chinese punctuation and
/// without white space.
std::vector<std::string> chinese_characters(std::string_view text);

}  // namespace longhaul
