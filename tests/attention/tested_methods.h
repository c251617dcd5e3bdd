#pragma once
// The methods tested by the suites of this folder: those of the registry, and that of
// recipe_test.cc, which was added by the recipe of docs/architecture.md.

#include "attention/method_spec.h"
#include "attention/settings.h"

namespace longhaul {

MethodInfo newest_method();

namespace testing_support {

inline std::span<const MethodInfo> tested_methods() {
  static const std::vector<MethodInfo> all = [] {
    const auto registry = attention_methods();
    std::vector<MethodInfo> methods(registry.begin(), registry.end());
    methods.push_back(newest_method());
    return methods;
  }();
  return all;
}

inline std::unique_ptr<AttentionDriver> make_tested(std::string_view spec,
                                                    const ModelShape& shape) {
  return MethodSpec::parse(spec, tested_methods()).make(shape);
}

}  // namespace testing_support
}  // namespace longhaul
