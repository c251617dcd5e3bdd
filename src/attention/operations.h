#pragma once
// Registers the operations that only one attention method uses. They are in the folder of their
// method (methods/NAME/).

namespace longhaul {

/// Registers these operations with every device that is opened later. The registry of methods calls
/// this function when the program starts.
void add_method_operations();

}  // namespace longhaul
