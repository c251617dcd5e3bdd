#pragma once
// Finds the end of a JSON value that arrives byte by byte. The scanner only counts brackets and
// quotation marks. The caller must check the syntax of the complete value.

#include <string>

namespace longhaul::serve {

class JsonScanner {
 public:
  enum class Result : uint8_t {
    kMore,
    kDone,    ///< this byte is the last one of the value
    kBefore,  ///< the value ended before this byte
    kBroken,  ///< this byte cannot begin or continue a value
  };
  Result push(char c);

 private:
  std::string open_;  // open brackets
  bool begun_ = false, in_string_ = false, escaped_ = false, scalar_ = false;
};

}  // namespace longhaul::serve
