#pragma once
// The request of a run: DIR/run.json. A run that continues must have the same conditions; it may
// add tasks, methods, lengths or samples.

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

/// A task of this run: from the registry, or from the user's own file.
struct PlannedTask {
  std::string name, summary, rule, source;
  /// hash of the user's file used by the task (cases, essays); otherwise empty
  std::string contents;
  bool scales = true;
  std::function<std::vector<Sample>(const TaskRequest&)> make;
};

enum class Openings : uint8_t {
  kOff,   ///< prompts end with the assistant mark
  kOn,    ///< prompts end with the reply's opening words, if a task has them
  kBoth,  ///< every such sample is run both ways
};

/// For tasks of any length, if no length is given.
inline constexpr int64_t kUsualLength = 4096;

struct EvalSettings {
  std::vector<MethodSpec> methods;
  /// Tokens for prompt and reply together. Empty: kUsualLength, and texts with their own length are
  /// cut to the model's trained context.
  std::vector<int64_t> lengths;
  int64_t longest_text = 0;  ///< length to which those are cut; 0: not at all. for_model() sets it
  int samples = 20;
  uint64_t seed = 1;
  Openings openings = Openings::kBoth;
  bool controls = false;      ///< also run control:no-context and control:middle-cut
  double kept_by_cut = 0.25;  ///< share of the prompt's tokens kept by control:middle-cut
  /// Methods that look up blocks also answer with the evidence shown (Ltri-LLM, section 2).
  bool inject_evidence = false;
  bool raw = false;           ///< no chat template
  std::string chat_template;  ///< a name or a file; empty: the model's own
  SessionOptions session;     ///< its `attention` is ignored
  int parallel = 1;
  /// Answers whose replies are decoded together, as far as memory allows; with `parallel` above 1
  /// each thread decodes its own alone.
  int together = 1;
  /// Methods that prefill densely and act at its end continue from one dense prefill.
  bool share_reading = true;
  bool sources = false;  ///< Record::source_rank
  /// Tokens at the end of every prompt that are read like generated ones (DuoAttention, A.3: 50),
  /// so that methods which select during decode have selected before the reply. Prefills are then
  /// not shared.
  int simulated = 0;
  std::filesystem::path data;  ///< --data; may be empty
  // Used only in run.json.
  std::string model, version, command, isa;
  std::string build;  ///< source revision of the program; not compared; may be empty
};

inline constexpr std::string_view kNoContext = "control:no-context";
inline constexpr std::string_view kMiddleCut = "control:middle-cut";
/// Prefix of a method's text when it is shown the evidence.
inline constexpr std::string_view kWithEvidence = "control:evidence+";

/// The methods that also run with the evidence shown.
std::vector<MethodSpec> shown_evidence(const EvalSettings& settings);

/// Names under which records are stored, baselines last.
std::vector<std::string> method_names(const EvalSettings& settings);

std::string_view name_of(Openings openings);  ///< "off", "on", "both"

/// run.json's contents (record.h lists the keys used by reports).
nlohmann::ordered_json run_json(const EvalSettings& settings, const Engine& engine,
                                std::span<const PlannedTask> tasks);

/// Creates the folder if it does not exist.
void make_run_folder(const std::filesystem::path& folder);

/// Whether the folder contains a run. UserError if it contains records without run.json.
bool has_begun(const std::filesystem::path& folder);

/// The folder's run.json merged with this run's request; nothing is written. UserError names the
/// setting by which the two runs are not comparable. "unfinished" becomes this run's request and
/// the open parts of earlier ones.
nlohmann::ordered_json continued_run(const std::filesystem::path& folder,
                                     const nlohmann::ordered_json& run);

/// The builds of the program named in the folder's run.json; empty if `run`'s build is one of them
/// or unknown.
std::string other_builds(const std::filesystem::path& folder, const nlohmann::ordered_json& run);

/// Writes `folder`/run.json.
void write_run(const std::filesystem::path& folder, nlohmann::ordered_json run);

/// The parts of a run.json that describe the request.
nlohmann::ordered_json asked_by(const nlohmann::ordered_json& run);

/// Removes "unfinished" from it.
void finish_run(const std::filesystem::path& folder);

}  // namespace longhaul
