#pragma once
// How a context is kept: attention method, KV type, chunk, limits.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/cli11_names.h"
#include "engine/session.h"

namespace longhaul {

struct SessionFlags {
  std::string attention = "dense";
  std::string kv_type = "bf16";
  std::string compute = "best";
  std::string device = "auto";
  int chunk = 0;
  int64_t context = 0;
  size_t memory_limit = 0;

  /// Commands that give --attention and --ctx another meaning leave them out.
  enum class Set { kAll, kWithoutContext, kWithoutAttentionAndContext };
  void add_to(CLI::App& app, Set set = Set::kAll);
  /// Throws UserError for an unknown method or option, and for several methods. With --device auto
  /// the queue may be a GPU's on which the model does not run: settle_place() decides.
  SessionOptions options() const;
  /// Of --device auto: options come to the CPU, all of them, where one of them does not run on the
  /// GPU that was found, or has no room there for `tokens` tokens and a reply.
  void settle_place(const std::shared_ptr<const Engine>& engine, std::span<SessionOptions> options,
                    int64_t tokens, int64_t reply = 0) const;
  /// Whether --compute asks for what only GPUs have: then --device auto is a GPU, or refused.
  bool needs_gpu() const;

 private:
  Queue open_gpu() const;
};

/// "dense,window:size=512,sinks=4" -> "dense", "window:size=512,sinks=4": a comma starts a new
/// method unless what follows is a further option of the one before.
std::vector<std::string> split_methods(const std::string& list);

/// Warns when rows of a context of `tokens` tokens see farther back than the model was trained for;
/// names the methods whose rows, by default, do not. Returns whether it did.
bool warn_beyond_training(const Engine& engine, const SessionOptions& options, int64_t tokens);

}  // namespace longhaul
