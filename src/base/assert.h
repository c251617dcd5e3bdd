#pragma once
// Our own mistakes stop the program. Apart from base/error.h, which needs libfmt: kernels and
// device code include this one.

namespace longhaul {

[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);

}  // namespace longhaul

/// A mistake of ours if it fails. Stays on in release builds: keep it out of inner loops.
#define LH_ASSERT(condition) \
  ((condition) ? void(0) : ::longhaul::assertion_failed(#condition, __FILE__, __LINE__))
