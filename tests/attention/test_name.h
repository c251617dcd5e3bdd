#pragma once

#include <cctype>
#include <string>

namespace longhaul::testing_support {

/// The letters and digits of a method's text, as the name of a test.
inline std::string test_name(std::string text) {
  for (char& c : text) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return text;
}

}  // namespace longhaul::testing_support
