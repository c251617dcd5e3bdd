#pragma once
// A radix tree of snapshots. The path from the root to a node is a sequence of tokens. A node may
// have a snapshot of these tokens, and every leaf has one.

#include <map>
#include <memory>
#include <vector>

#include "serve/cache/snapshot.h"

namespace longhaul::serve {

struct TreeNode {
  TreeNode* parent = nullptr;
  std::vector<int32_t> edge;  ///< tokens between the parent and this node
  int64_t depth = 0;          ///< number of tokens on the path from the root to this node
  /// Child nodes, by the first token of their edge.
  std::map<int32_t, std::unique_ptr<TreeNode>> children;
  std::shared_ptr<Snapshot> snapshot;

  bool is_leaf() const { return children.empty(); }
};

class SnapshotTree {
 public:
  /// The path of a prompt through the tree.
  struct Path {
    /// The nodes on the path, without the root. The tokens of each are a prefix of the prompt.
    std::vector<TreeNode*> nodes;
    int64_t common = 0;  ///< number of tokens that the prompt shares with the tree
    /// The node at which the path ends, or the lower node of the edge within which it ends. This
    /// node and all nodes below it have the first `common` tokens of the prompt. Null if the tree
    /// is empty.
    TreeNode* below = nullptr;
    bool goes_on = false;  ///< whether the tree has further tokens after the common ones
  };
  Path walk(std::span<const int32_t> prompt) const;

  /// Returns the node with exactly these tokens, and creates it if necessary. `tokens` must not be
  /// empty.
  TreeNode* make(std::span<const int32_t> tokens);
  /// Removes the snapshot of the node. Then removes all nodes that have no snapshot and none below
  /// them.
  void remove(TreeNode* node);

  bool empty() const { return root_.children.empty(); }
  /// Returns at most `most` snapshots at or below a node. In each branch, snapshots nearer to the
  /// node come first.
  static std::vector<Snapshot*> below(const TreeNode& node, size_t most);
  /// Returns the nearest snapshot on the way from a node to the root, or null.
  static Snapshot* above(const TreeNode& node);

 private:
  TreeNode root_;
};

}  // namespace longhaul::serve
