#pragma once
// A CalibrationPart calibrates one attention method: it finds settings of the method for a model.
// `longhaul calibrate METHOD` runs one part, and `calibrate all` runs several.

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/calibration.h"
#include "cli/calibrate_command.h"
#include "eval/data.h"
#include "report/calibration_page.h"
#include "report/svg/heat_map.h"

namespace longhaul {

class CalibrationPart {
 public:
  virtual ~CalibrationPart() = default;

  virtual std::string_view method() const = 0;
  /// Returns the name of the steps, such as "prompts", for the progress bar.
  virtual std::string_view unit() const = 0;
  virtual Calibration& search() = 0;
  /// Returns whether the steps so far have produced a result. Throws UserError if the calibration
  /// can never produce one.
  virtual bool has_result() const = 0;

  // The following functions print, return or write the best result so far.
  virtual void print() const = 0;
  virtual nlohmann::ordered_json json() const = 0;
  virtual CalibrationSection section() const = 0;
  /// Returns the names of the files that write() writes. All begin with `prefix`. The first is the
  /// profile (cli/profile_file.h); the others are files that it names.
  virtual std::vector<std::filesystem::path> files(const std::string& prefix) const = 0;
  virtual void write(const std::string& prefix) const = 0;
  /// Writes further files, which the user has requested by flags of the method.
  virtual void write_named() const {}
};

/// The input that all parts share. It must outlive the parts.
struct CalibrationInput {
  const CalibrateFlags& flags;
  std::shared_ptr<const Engine> engine;
  const EvalData& data;
  Queue queue;  ///< queue of --device
};

// Each of the following functions creates the part for a method. It throws UserError if the method
// cannot be calibrated for this model.
std::unique_ptr<CalibrationPart> duo_part(const CalibrationInput& input);
std::unique_ptr<CalibrationPart> trianglemix_part(const CalibrationInput& input);
std::unique_ptr<CalibrationPart> ltri_part(const CalibrationInput& input);
std::unique_ptr<CalibrationPart> reattention_part(const CalibrationInput& input);
std::unique_ptr<CalibrationPart> minference_part(const CalibrationInput& input);

struct CalibratedMethod {
  std::string_view name, what;
  std::unique_ptr<CalibrationPart> (*make)(const CalibrationInput& input);
  /// Reason why the calibration runs only on the host. Empty if it can also run on a GPU.
  std::string_view only_here = {};
};
std::span<const CalibratedMethod> calibrated_methods();

/// Runs the remaining steps of a part and shows a progress bar. After each step, saves the state of
/// the calibration to the file `state`, unless this name is empty. Returns false if Ctrl-C has
/// stopped it.
bool run_part(CalibrationPart& part, const CalibrateFlags& flags, const std::string& state);

/// Returns `asked`, the lengths that --lengths sets. If --lengths is not given, returns the lengths
/// of `usual` that do not exceed the model's trained context, or only the trained context if all
/// exceed it.
std::vector<int64_t> lengths_or(const std::vector<int64_t>& asked, const Engine& engine,
                                std::vector<int64_t> usual);
std::vector<std::string> tasks_or(const CalibrateFlags& flags, std::string_view usual);
/// Returns session options with dense attention, on the host, with the compute type of --compute.
SessionOptions session_of(const CalibrateFlags& flags);
/// Returns session options with dense attention, on the device of --device. If --device is `auto`
/// and the device cannot process `tokens` tokens, the options are for the host.
SessionOptions session_of(const CalibrationInput& input, int64_t tokens);
/// Returns the queue on which gradients are computed, for texts of at most `tokens` tokens. `keep`
/// is the argument of FrozenDecoder::device_bytes(). If the device has too little memory or does
/// not support the weights, returns the host's queue for --device auto, and throws UserError for
/// any other value.
Queue training_queue(const CalibrationInput& input, int64_t tokens, bool keep);
/// Throws UserError if --device names a GPU and the method runs only on the host.
void expect_place(const CalibrateFlags& flags, const CalibratedMethod& method);
/// Returns a copy of `input` for a method. Its queue is the host's if the method runs only on the
/// host.
CalibrationInput placed(const CalibrationInput& input, const CalibratedMethod& method);

/// Returns "0", "1" and so on as names of layers or heads.
std::vector<std::string> numbers_to(size_t count);

/// Returns a heat map of `numbers`, [layer][head], which are from 0 to 1. Layers may have different
/// numbers of heads. Tooltips consist of `head`, `what` and the number with `digits` decimals. For
/// "KV head", "gate " and 3, a tooltip is "layer 3, KV head 1: gate 0.250".
HeatMap map_of_heads(std::string title, std::string_view head, std::string_view what, int digits,
                     const std::vector<std::vector<double>>& numbers);

}  // namespace longhaul
