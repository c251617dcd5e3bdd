#pragma once
// One option's value: from what the user wrote to its canonical text.

#include <string>
#include <string_view>

#include "attention/method_options.h"

namespace longhaul {

/// Numbers without superfluous digits, booleans as true and false, "auto" as it is where the option
/// takes it. Throws UserError naming
/// `method`, the key, the value and what would be allowed.
std::string canonical_value(std::string_view method, const OptionInfo& option,
                            std::string_view value);

}  // namespace longhaul
