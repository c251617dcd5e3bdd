#pragma once
// Every attention method by name. Adding a method is one source file and one line in registry.cc.

#include <span>

#include "attention/method_info.h"

namespace longhaul {

/// All methods of this build, in the order in which they are listed.
std::span<const MethodInfo> attention_methods();

}  // namespace longhaul
