#pragma once
// Registers the operations that belong to single attention methods. The operations are in the
// folder of their method (methods/NAME/).

namespace longhaul {

/// Makes every device that is opened later implement the operations of single methods. The registry
/// of methods calls it when the program starts.
void add_method_operations();

}  // namespace longhaul
