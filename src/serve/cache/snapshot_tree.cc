#include "serve/cache/snapshot_tree.h"

#include <algorithm>

#include "base/assert.h"

namespace longhaul::serve {
namespace {

int64_t equal_tokens(std::span<const int32_t> a, std::span<const int32_t> b) {
  return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
}

}  // namespace

SnapshotTree::Path SnapshotTree::walk(std::span<const int32_t> prompt) const {
  Path path;
  const TreeNode* node = &root_;
  path.below = empty() ? nullptr : const_cast<TreeNode*>(node);
  for (;;) {
    const auto rest = prompt.subspan(static_cast<size_t>(path.common));
    path.goes_on = !node->is_leaf();
    if (rest.empty()) return path;
    const auto child = node->children.find(rest.front());
    if (child == node->children.end()) return path;
    node = child->second.get();
    path.below = child->second.get();
    const int64_t same = equal_tokens(node->edge, rest);
    path.common += same;
    path.goes_on = true;
    if (same < std::ssize(node->edge)) return path;
    path.nodes.push_back(child->second.get());
  }
}

TreeNode* SnapshotTree::make(std::span<const int32_t> tokens) {
  LH_ASSERT(!tokens.empty());
  TreeNode* node = &root_;
  while (!tokens.empty()) {
    std::unique_ptr<TreeNode>& slot = node->children[tokens.front()];
    if (slot == nullptr) {
      slot = std::make_unique<TreeNode>();
      slot->parent = node;
      slot->edge.assign(tokens.begin(), tokens.end());
      slot->depth = node->depth + std::ssize(tokens);
      return slot.get();
    }
    const int64_t same = equal_tokens(slot->edge, tokens);
    if (same < std::ssize(slot->edge)) {  // a node between the two
      auto upper = std::make_unique<TreeNode>();
      upper->parent = node;
      upper->edge.assign(slot->edge.begin(), slot->edge.begin() + same);
      upper->depth = node->depth + same;
      slot->edge.erase(slot->edge.begin(), slot->edge.begin() + same);
      slot->edge.shrink_to_fit();
      slot->parent = upper.get();
      upper->children[slot->edge.front()] = std::move(slot);
      slot = std::move(upper);
    }
    node = slot.get();
    tokens = tokens.subspan(static_cast<size_t>(same));
  }
  return node;
}

void SnapshotTree::remove(TreeNode* node) {
  node->snapshot.reset();
  while (node->parent != nullptr && node->is_leaf() && node->snapshot == nullptr) {
    TreeNode* parent = node->parent;
    parent->children.erase(node->edge.front());
    node = parent;
  }
  if (node->parent == nullptr || node->snapshot != nullptr || node->children.size() != 1) return;
  // A node without a snapshot and with one child only lengthens the child's edge.
  std::unique_ptr<TreeNode> child = std::move(node->children.begin()->second);
  child->edge.insert(child->edge.begin(), node->edge.begin(), node->edge.end());
  TreeNode* parent = node->parent;
  child->parent = parent;
  parent->children[child->edge.front()] = std::move(child);  // ends `node`
}

std::vector<Snapshot*> SnapshotTree::below(const TreeNode& node, size_t most) {
  std::vector<Snapshot*> found;
  std::vector<const TreeNode*> left = {&node};
  while (!left.empty() && found.size() < most) {
    const TreeNode* next = left.back();
    left.pop_back();
    if (next->snapshot != nullptr) found.push_back(next->snapshot.get());
    for (const auto& [token, child] : next->children) left.push_back(child.get());
  }
  return found;
}

Snapshot* SnapshotTree::above(const TreeNode& node) {
  for (const TreeNode* up = node.parent; up != nullptr; up = up->parent) {
    if (up->snapshot != nullptr) return up->snapshot.get();
  }
  return nullptr;
}

}  // namespace longhaul::serve
