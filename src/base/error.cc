#include "base/error.h"

#include <cstdio>
#include <cstdlib>

namespace longhaul {

void warn_line(const std::string& line) { std::fprintf(stderr, "warning: %s\n", line.c_str()); }

void assertion_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: internal error: %s is false\n", file, line, expression);
  std::abort();
}

}  // namespace longhaul
