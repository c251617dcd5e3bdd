// Walks in a directed graph, in the manner of GraphWalks (OpenAI 2025): the parents of a node, or
// the nodes two steps away. Every edge of the answer stands somewhere else in the list.

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <utility>

#include "eval/haystack.h"
#include "eval/tasks/families.h"
#include "eval/tasks/make_samples.h"

namespace longhaul {
namespace {

constexpr int kNodeLetters = 5;
constexpr int64_t kLeastEdges = 12;

using GraphEdge = std::pair<std::string, std::string>;

class Graph {
 public:
  explicit Graph(Random& random) : random_(random) {}
  std::string new_node() {
    for (;;) {
      std::string name;
      for (int i = 0; i < kNodeLetters; ++i) name += static_cast<char>('A' + random_.below(26));
      if (used_.insert(name).second) return name;
    }
  }
  /// Adds an edge that belongs to the question, at a random place of the list. No other edge
  /// touches its nodes.
  void add_asked(const std::string& from, const std::string& to) {
    asked_.push_back({{from, to}, random_.unit()});
  }
  /// The list with `count` edges. A longer list holds the edges of a shorter one.
  std::string lines(int64_t count);

 private:
  struct Placed {
    GraphEdge edge;
    double depth = 0;
  };
  const GraphEdge& other(size_t index);

  Random& random_;
  std::set<std::string> used_;
  std::vector<Placed> asked_;
  std::vector<GraphEdge> others_;
  std::vector<std::string> nodes_;  ///< nodes of other edges
};

/// Each edge has a new node, which it leaves or enters, and an earlier one.
const GraphEdge& Graph::other(size_t index) {
  while (others_.size() <= index) {
    if (nodes_.empty()) nodes_.push_back(new_node());
    const std::string earlier = random_.pick(nodes_);
    nodes_.push_back(new_node());
    others_.push_back(others_.size() % 2 == 0 ? GraphEdge{nodes_.back(), earlier}
                                              : GraphEdge{earlier, nodes_.back()});
  }
  return others_[index];
}

std::string Graph::lines(int64_t count) {
  const int64_t rest = count - std::ssize(asked_);
  std::vector<GraphEdge> edges;
  for (int64_t i = 0; i < rest; ++i) edges.push_back(other(static_cast<size_t>(i)));
  for (const Placed& placed : asked_) {
    const auto at = std::llround(placed.depth * static_cast<double>(edges.size()));
    edges.insert(edges.begin() + at, placed.edge);
  }
  std::string text;
  for (const auto& [from, to] : edges) text += fmt::format("\n{} -> {}", from, to);
  return text;
}

/// Draws the question and the edges that answer it.
void ask_for_parents(Graph& graph, Sample& sample) {
  constexpr int kParents = 3;
  const std::string node = graph.new_node();
  for (int i = 0; i < kParents; ++i) {
    sample.answers.push_back(graph.new_node());
    graph.add_asked(sample.answers.back(), node);
  }
  sample.question = fmt::format(
      "Which nodes have an edge that leads to {}? Give the list of these nodes only.", node);
}

void ask_for_second_steps(Graph& graph, Sample& sample) {
  const std::string start = graph.new_node();
  for (int i = 0; i < 2; ++i) {
    const std::string step = graph.new_node();
    graph.add_asked(start, step);
    for (int j = 0; j < 2 - i; ++j) {
      sample.answers.push_back(graph.new_node());
      graph.add_asked(step, sample.answers.back());
    }
  }
  sample.question = fmt::format(
      "Begin a breadth-first search at {}. Which nodes are reached after exactly two edges? Give "
      "the list of these nodes only.",
      start);
}

std::vector<Sample> make_walks(const TaskRequest& request) {
  return make_samples(request, [&](Sample& sample, Random& random, int) {
    Graph graph(random);
    if (request.task == "graph-walks/parents") {
      ask_for_parents(graph, sample);
    } else {
      ask_for_second_steps(graph, sample);
    }
    sample.rule = "names-f1";
    sample.opening = "Final answer: [";
    sample.separator = "\n\n";
    sample.max_tokens = 48;
    fit_to_length(request, sample, 1.0 / 14, kLeastEdges, [&](Sample& filled, int64_t edges) {
      filled.context = "A directed graph has these edges:" + graph.lines(edges);
    });
  });
}

constexpr std::string_view kWalkRule = "F1 of the right nodes and the nodes in the reply";
constexpr std::string_view kWalkSource =
    "the operations of GraphWalks; graph and prompt of our own";

constexpr TaskInfo kWalkTasks[] = {
    {"graph-walks/parents", "the nodes with an edge to a node, in a list of edges", kWalkRule,
     kWalkSource, true, make_walks},
    {"graph-walks/bfs", "the nodes two steps from a node, in a list of edges", kWalkRule,
     kWalkSource, true, make_walks},
};

}  // namespace

std::span<const TaskInfo> graph_walk_tasks() { return kWalkTasks; }

}  // namespace longhaul
