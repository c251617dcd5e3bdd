#pragma once
// The calibration of one method in `longhaul calibrate`. It runs alone, or as a part of `calibrate
// all`.

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
  /// Returns the name of a step in the plural, such as "prompts".
  virtual std::string_view unit() const = 0;
  virtual Calibration& search() = 0;
  /// Returns whether there is already a result to print or write. Throws UserError if there cannot
  /// be one.
  virtual bool has_result() const = 0;

  // The following functions use the best result so far.
  virtual void print() const = 0;
  virtual nlohmann::ordered_json json() const = 0;
  virtual CalibrationSection section() const = 0;
  /// Returns the files of a profile, whose names begin with `prefix`. The first is the profile
  /// itself.
  virtual std::vector<std::filesystem::path> files(const std::string& prefix) const = 0;
  virtual void write(const std::string& prefix) const = 0;
  /// Writes the files that flags of the method request.
  virtual void write_named() const {}
};

/// Input of the parts. The input must outlive the parts.
struct CalibrationInput {
  const CalibrateFlags& flags;
  std::shared_ptr<const Engine> engine;
  const EvalData& data;
  Queue queue;  ///< queue of --device
};

// Each function throws UserError if the model cannot be calibrated for the method.
std::unique_ptr<CalibrationPart> duo_part(const CalibrationInput& input);
std::unique_ptr<CalibrationPart> trianglemix_part(const CalibrationInput& input);
std::unique_ptr<CalibrationPart> ltri_part(const CalibrationInput& input);
std::unique_ptr<CalibrationPart> reattention_part(const CalibrationInput& input);
std::unique_ptr<CalibrationPart> minference_part(const CalibrationInput& input);

struct CalibratedMethod {
  std::string_view name, what;
  std::unique_ptr<CalibrationPart> (*make)(const CalibrationInput& input);
  /// Reason why the calibration runs only on the CPU; empty: no such restriction.
  std::string_view only_here = {};
};
std::span<const CalibratedMethod> calibrated_methods();

/// Runs the remaining steps of a part with a progress bar. Saves its state to the file `state`
/// after each step, unless `state` is empty. Returns false if Ctrl-C ended it.
bool run_part(CalibrationPart& part, const CalibrateFlags& flags, const std::string& state);

/// Returns the lengths of --lengths. If there are none, returns those of `usual` that do not exceed
/// the trained context, but at least one.
std::vector<int64_t> lengths_or(const std::vector<int64_t>& asked, const Engine& engine,
                                std::vector<int64_t> usual);
std::vector<std::string> tasks_or(const CalibrateFlags& flags, std::string_view usual);
/// Returns the options of a dense session on the host with the compute type of --compute.
SessionOptions session_of(const CalibrateFlags& flags);
/// Returns the options of a dense session on the device of --device. If --device is `auto` and the
/// device cannot process `tokens` tokens, the session is on the host.
SessionOptions session_of(const CalibrationInput& input, int64_t tokens);
/// Returns the queue for gradients of texts of up to `tokens` tokens (`keep`: see
/// FrozenDecoder::device_bytes). If the device has too little memory or does not support the
/// weights, `auto` means the host; any other value of --device is a UserError.
Queue training_queue(const CalibrationInput& input, int64_t tokens, bool keep);
/// Throws UserError if --device names a GPU and the method runs only on the host.
void expect_place(const CalibrateFlags& flags, const CalibratedMethod& method);
/// Returns the input for a method. Its queue is that of the host if the method runs only there.
CalibrationInput placed(const CalibrationInput& input, const CalibratedMethod& method);

/// Returns "0", "1" and so on as names of layers or heads.
std::vector<std::string> numbers_to(size_t count);

/// Returns a heat map with a value from 0 to 1 for every head of every layer. Layers may have
/// different numbers of heads. `head` and `what` are parts of the tooltips: "KV head" and "gate "
/// yield "layer 3, KV head 1: gate 0.250".
HeatMap map_of_heads(std::string title, std::string_view head, std::string_view what, int digits,
                     const std::vector<std::vector<double>>& numbers);

}  // namespace longhaul
