#pragma once
// Methods whose options are members of their own; methods/keydiff.cc is the one to copy.

#include "attention/registry.h"

namespace longhaul {

/// The set of options is a method itself, from whose filled members the one that runs is made.
/// Where M has fit(shape), that is called with the model's shape, and may throw UserError.
template <class M>
MethodInfo own_options(MethodInfo info) {
  info.describe = [] {
    const auto method = std::make_shared<M>();
    OptionSet set{method, {}};
    method->declare(set.list);
    return set;
  };
  info.make = [](const OptionSet& set, const ModelShape& shape) -> std::unique_ptr<Method> {
    auto method = std::make_unique<M>(std::move(*static_cast<M*>(set.options.get())));
    if constexpr (requires { method->fit(shape); }) method->fit(shape);
    return method;
  };
  return info;
}

}  // namespace longhaul
