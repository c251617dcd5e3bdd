#pragma once
// Internal errors stop the program. This header is separate from base/error.h, which needs libfmt,
// because kernels and device code include it.

namespace longhaul {

[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);

}  // namespace longhaul

/// Asserts an internal condition. It stays on in release builds, so keep it out of inner loops.
#define LH_ASSERT(condition) \
  ((condition) ? void(0) : ::longhaul::assertion_failed(#condition, __FILE__, __LINE__))
