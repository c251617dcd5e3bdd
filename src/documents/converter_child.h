#pragma once
// Contains the main function of the process that ConverterProcess starts.

#include "documents/converter_process.h"

namespace longhaul {

/// Converts the documents of requests that arrive through `socket`, until the other end of the
/// socket is closed. Then ends the process.
[[noreturn]] void run_converter(int socket, const ConverterLimits& limits);

}  // namespace longhaul
