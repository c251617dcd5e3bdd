#pragma once
// Defines the settings of a run, and the file DIR/run.json that records them. A run can continue in
// the folder of an earlier run if both have the same settings, except that it may add tasks,
// methods, lengths or samples.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "engine/session.h"
#include "eval/task.h"

namespace longhaul {

/// A task of this run, either from the registry or from a user's file.
struct PlannedTask {
  std::string name, summary, rule, source;
  /// Hash of the user's file from which the task makes its samples ("jsonl:FILE", or the essays).
  /// Empty if there is no such file.
  std::string contents;
  bool scales = true;  ///< whether samples can have any requested length
  std::function<std::vector<Sample>(const TaskRequest&)> make;
};

enum class Openings : uint8_t {
  kOff,   ///< prompts end with the mark with which the chat template begins the reply
  kOn,    ///< prompts end with the reply's opening words, if a task has them
  kBoth,  ///< samples with opening words have two prompts, one of each kind
};

/// The length in tokens that is used if the user gives no length.
inline constexpr int64_t kUsualLength = 4096;

/// A run can be split into shards, which may run on different machines (report/merge_shards.h). A
/// shard has a part of the samples of every task and length: those whose number (counted from 0)
/// modulo `count` is `index`.
struct EvalShard {
  int index = 0, count = 1;

  bool holds(size_t sample) const {
    return sample % static_cast<size_t>(count) == static_cast<size_t>(index);
  }
  /// Returns how many of the first `samples` samples belong to the shard.
  int64_t share_of(int64_t samples) const { return (samples - index + count - 1) / count; }
  std::string text() const;  ///< returns a text such as "1/4", which is the first of four shards
};

/// Parses a text such as "1/4". Throws UserError if it is invalid.
EvalShard shard_from(const std::string& text);

struct EvalSettings {
  std::vector<MethodSpec> methods;
  /// Lengths of prompt and reply together, in tokens. If it is empty, tasks of any length use
  /// kUsualLength, and samples with their own length are cut to the model's trained context.
  std::vector<int64_t> lengths;
  /// Length to which samples with their own length are cut; 0: they are not cut. for_model() sets
  /// it.
  int64_t longest_text = 0;
  int samples = 20;
  EvalShard shard;
  uint64_t seed = 1;
  Openings openings = Openings::kBoth;
  bool controls = false;      ///< whether control:no-context and control:middle-cut are also run
  double kept_by_cut = 0.25;  ///< share of the prompt's tokens that control:middle-cut keeps
  /// If true, methods that look up blocks also run in a second way, with the evidence shown: the
  /// blocks that contain the answer are added to the blocks that the method selects (Ltri-LLM,
  /// section 2).
  bool inject_evidence = false;
  bool raw = false;           ///< whether prompts are bare text, without a chat template
  std::string chat_template;  ///< name or file of a chat template; empty: the model's own
  SessionOptions session;     ///< `attention` is ignored
  int parallel = 1;           ///< number of threads that run samples
  /// Largest number of replies that are decoded in one batch, if they fit in memory. It is used
  /// only if `parallel` is 1; several threads decode their replies one by one.
  int together = 1;
  /// If true, methods whose prefill begins with dense attention share one dense prefill of each
  /// prompt.
  bool share_reading = true;
  bool sources = false;  ///< whether to compute Record::source_rank
  /// Number of tokens at the end of every prompt that are decoded one by one, as if they were
  /// generated (50 in DuoAttention, A.3). A method that selects keys during decode then does so
  /// before the reply begins. If it is not 0, prefills are not shared.
  int simulated = 0;
  std::filesystem::path data;  ///< --data; may be empty
  // The following fields are only written to run.json.
  std::string model, version, command, isa;
  std::string build;  ///< source revision of the program; may differ between runs; may be empty
};

inline constexpr std::string_view kNoContext = "control:no-context";
inline constexpr std::string_view kMiddleCut = "control:middle-cut";
/// Prefix of the name of a method that runs with the evidence shown.
inline constexpr std::string_view kWithEvidence = "control:evidence+";

/// Returns the methods that also run with the evidence shown (inject_evidence).
std::vector<MethodSpec> shown_evidence(const EvalSettings& settings);

/// Returns the method names as they are in the records, with the baselines last.
std::vector<std::string> method_names(const EvalSettings& settings);

std::string_view name_of(Openings openings);  ///< returns "off", "on" or "both"

/// Returns the contents of run.json. record.h lists the keys that reports use.
nlohmann::ordered_json run_json(const EvalSettings& settings, const Engine& engine,
                                std::span<const PlannedTask> tasks);

/// Creates the folder if it does not exist.
void make_run_folder(const std::filesystem::path& folder);

/// Returns whether the folder contains a run. Throws UserError if it has samples.jsonl but no
/// run.json.
bool has_begun(const std::filesystem::path& folder);

/// Returns the new contents of the folder's run.json, without writing them. `run` is the result of
/// run_json() for this run. The result combines `run` with the earlier runs in the folder. Its
/// member "unfinished" lists the requested answers of this run and of earlier runs that have not
/// finished. If the runs are not comparable, throws UserError that names the setting in which they
/// differ.
nlohmann::ordered_json continued_run(const std::filesystem::path& folder,
                                     const nlohmann::ordered_json& run);

/// Returns the builds of the program that made the earlier runs in the folder. The result is empty
/// if the build of `run` is one of them or is unknown.
std::string other_builds(const std::filesystem::path& folder, const nlohmann::ordered_json& run);

/// Writes `folder`/run.json.
void write_run(const std::filesystem::path& folder, nlohmann::ordered_json run);

/// Returns the members of run.json that determine which answers are requested.
nlohmann::ordered_json asked_by(const nlohmann::ordered_json& run);

/// Removes "unfinished" from the folder's run.json, because all answers exist.
void finish_run(const std::filesystem::path& folder);

}  // namespace longhaul
