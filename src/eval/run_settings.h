#pragma once
// What a run was asked for: DIR/run.json. A run that continues must ask under the same conditions;
// it may ask for more tasks, methods, lengths or samples.

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

/// A task of this run: from the registry, or the user's own file.
struct PlannedTask {
  std::string name, summary, rule, source;
  std::string contents;  ///< hash of the user's file that it reads (cases, essays); else empty
  bool scales = true;
  std::function<std::vector<Sample>(const TaskRequest&)> make;
};

enum class Openings : uint8_t {
  kOff,   ///< prompts end with the assistant mark
  kOn,    ///< with the reply's opening words, where a task has them
  kBoth,  ///< every such sample is asked both ways
};

/// Of tasks of any length, where none is asked for.
inline constexpr int64_t kUsualLength = 4096;

struct EvalSettings {
  std::vector<MethodSpec> methods;
  /// Tokens that prompt and reply may fill. Empty: kUsualLength, and texts of their own length are
  /// cut to what the model was trained for.
  std::vector<int64_t> lengths;
  int64_t longest_text = 0;  ///< what those are cut to; 0: not at all. for_model() sets it
  int samples = 20;
  uint64_t seed = 1;
  Openings openings = Openings::kBoth;
  bool controls = false;      ///< control:no-context and control:middle-cut beside the methods
  double kept_by_cut = 0.25;  ///< of the prompt's tokens, by control:middle-cut
  /// Methods that look up blocks answer once more, shown the evidence (Ltri-LLM, section 2).
  bool inject_evidence = false;
  bool raw = false;           ///< no chat template
  std::string chat_template;  ///< a name or a file; empty: the model's own
  SessionOptions session;     ///< its `attention` is not looked at
  int parallel = 1;
  /// Methods that read a prompt densely and act at its end go on from one dense reading.
  bool share_reading = true;
  bool sources = false;  ///< Record::source_rank
  /// Tokens at the end of every prompt that are read as generated ones (DuoAttention, A.3: 50), so
  /// that methods which choose while they generate have chosen before the reply. Readings are not
  /// shared then.
  int simulated = 0;
  std::filesystem::path data;  ///< --data; may be empty
  // For run.json only.
  std::string model, version, command, isa;
  std::string build;  ///< which sources the program was built from; not compared; may be empty
};

inline constexpr std::string_view kNoContext = "control:no-context";
inline constexpr std::string_view kMiddleCut = "control:middle-cut";
/// What stands before a method's text where it is shown the evidence.
inline constexpr std::string_view kWithEvidence = "control:evidence+";

/// Those that are asked once more with the evidence.
std::vector<MethodSpec> shown_evidence(const EvalSettings& settings);

/// Names under which records are kept, controls last.
std::vector<std::string> method_names(const EvalSettings& settings);

std::string_view name_of(Openings openings);  ///< "off", "on", "both"

/// run.json's contents (record.h lists what reports read).
nlohmann::ordered_json run_json(const EvalSettings& settings, const Engine& engine,
                                std::span<const PlannedTask> tasks);

/// The folder, made where it is not there.
void make_run_folder(const std::filesystem::path& folder);

/// Whether the folder holds a run. UserError when it holds records without run.json.
bool has_begun(const std::filesystem::path& folder);

/// The run.json of the folder with what this run asks for added to it; nothing is written.
/// UserError names the setting by which the two runs cannot be compared. "unfinished" becomes what
/// this run asks for and what earlier ones have left open.
nlohmann::ordered_json continued_run(const std::filesystem::path& folder,
                                     const nlohmann::ordered_json& run);

/// The builds of the program that the folder's run.json names; empty when `run`'s is one of them or
/// is not known.
std::string other_builds(const std::filesystem::path& folder, const nlohmann::ordered_json& run);

/// `folder`/run.json.
void write_run(const std::filesystem::path& folder, nlohmann::ordered_json run);

/// The parts of a run.json that say what is asked.
nlohmann::ordered_json asked_by(const nlohmann::ordered_json& run);

/// Takes "unfinished" away there.
void finish_run(const std::filesystem::path& folder);

}  // namespace longhaul
