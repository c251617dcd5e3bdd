#pragma once
// Defines assertions of internal conditions. A violation stops the program. Kernels and device code
// include this header. They cannot include base/error.h, because that header needs libfmt.

namespace longhaul {

[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);

}  // namespace longhaul

/// Asserts an internal condition. It stays on in release builds, so keep it out of inner loops.
#define LH_ASSERT(condition) \
  ((condition) ? void(0) : ::longhaul::assertion_failed(#condition, __FILE__, __LINE__))
