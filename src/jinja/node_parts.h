#pragma once
// Defines functions with which the parser constructs nodes.

#include <algorithm>
#include <utility>
#include <vector>

#include "jinja/ast.h"

namespace longhaul::jinja {

inline std::vector<ExpressionPtr> parts_of(ExpressionPtr a, ExpressionPtr b) {
  std::vector<ExpressionPtr> parts;
  parts.push_back(std::move(a));
  parts.push_back(std::move(b));
  return parts;
}

inline std::vector<ExpressionPtr> parts_of(ExpressionPtr a) {
  std::vector<ExpressionPtr> parts;
  parts.push_back(std::move(a));
  return parts;
}

inline int height_of(const ExpressionPtr& node) { return node ? node->height : 0; }

inline int height_of(const CallArguments& arguments) {
  int height = std::max(height_of(arguments.more), height_of(arguments.more_named));
  for (const ExpressionPtr& node : arguments.positional) height = std::max(height, height_of(node));
  for (const auto& [name, node] : arguments.named) height = std::max(height, height_of(node));
  return height;
}

}  // namespace longhaul::jinja
