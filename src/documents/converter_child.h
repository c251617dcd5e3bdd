#pragma once
// The part of ConverterProcess that runs in the other process.

#include "documents/converter_process.h"

namespace longhaul {

/// Answers requests that arrive through `socket` until its other end is closed. Then ends the
/// process.
[[noreturn]] void run_converter(int socket, const ConverterLimits& limits);

}  // namespace longhaul
