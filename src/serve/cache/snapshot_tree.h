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
  int64_t depth = 0;          ///< number of tokens from the root
  /// Child nodes, by the first token of their edge.
  std::map<int32_t, std::unique_ptr<TreeNode>> children;
  std::shared_ptr<Snapshot> snapshot;

  bool is_leaf() const { return children.empty(); }
};

class SnapshotTree {
 public:
  /// The path of a prompt through the tree.
  struct Path {
    /// Nodes whose tokens are all a prefix of the prompt, without the root.
    std::vector<TreeNode*> nodes;
    int64_t common = 0;  ///< number of tokens that the prompt shares with the tree
    /// The node at the end of the path, or the node on whose edge the path ends. All nodes below it
    /// share `common` tokens with the prompt. The pointer is null if the tree is empty.
    TreeNode* below = nullptr;
    bool goes_on = false;  ///< whether the tree continues with other tokens after the common ones
  };
  Path walk(std::span<const int32_t> prompt) const;

  /// Returns the node with exactly these tokens, and creates it if necessary. `tokens` is not
  /// empty.
  TreeNode* make(std::span<const int32_t> tokens);
  /// Removes the snapshot of the node, and all nodes that no longer lead to a snapshot.
  void remove(TreeNode* node);

  bool empty() const { return root_.children.empty(); }
  /// Returns at most `most` snapshots below a node, the nearest of each branch first.
  static std::vector<Snapshot*> below(const TreeNode& node, size_t most);
  /// Returns the nearest snapshot above a node, or null.
  static const Snapshot* above(const TreeNode& node);

 private:
  TreeNode root_;
};

}  // namespace longhaul::serve
