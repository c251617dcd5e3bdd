#pragma once
// Operations that belong to one attention method. They lie in the method's folder
// (methods/NAME/), beside the method.

namespace longhaul {

/// Lets every device that is opened later implement the operations of single methods. The registry
/// of methods calls it when the program starts.
void add_method_operations();

}  // namespace longhaul
