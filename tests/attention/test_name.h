#pragma once

#include <cctype>
#include <string>

namespace longhaul::testing_support {

/// What names the test of a method's text: letters and digits of it.
inline std::string test_name(std::string text) {
  for (char& c : text) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return text;
}

}  // namespace longhaul::testing_support
