#pragma once
// A radix tree of the tokens of snapshots. Every leaf has a snapshot.

#include <map>
#include <memory>
#include <vector>

#include "serve/cache/snapshot.h"

namespace longhaul::serve {

struct TreeNode {
  TreeNode* parent = nullptr;
  std::vector<int32_t> edge;  ///< tokens between the parent and this node
  int64_t depth = 0;          ///< tokens from the root
  std::map<int32_t, std::unique_ptr<TreeNode>> children;  ///< by the first token of their edge
  std::shared_ptr<Snapshot> snapshot;

  bool is_leaf() const { return children.empty(); }
};

class SnapshotTree {
 public:
  /// The way of a prompt through the tree.
  struct Path {
    std::vector<TreeNode*> nodes;  ///< nodes whose tokens all begin the prompt, without the root
    int64_t common = 0;            ///< tokens that the prompt shares with the tree
    /// The node within or after whose edge the way ends: everything below it shares `common`
    /// tokens with the prompt. Null if the tree is empty.
    TreeNode* below = nullptr;
    bool goes_on = false;  ///< the tree has other tokens after the common ones
  };
  Path walk(std::span<const int32_t> prompt) const;

  /// The node with exactly these tokens, which are not empty.
  TreeNode* make(std::span<const int32_t> tokens);
  /// Removes the node's snapshot, and the nodes that no longer lead to one.
  void remove(TreeNode* node);

  bool empty() const { return root_.children.empty(); }
  /// Snapshots below a node, at most `most`, the nearest first in each branch.
  static std::vector<Snapshot*> below(const TreeNode& node, size_t most);
  /// The nearest snapshot above a node, or null.
  static const Snapshot* above(const TreeNode& node);

 private:
  TreeNode root_;
};

}  // namespace longhaul::serve
