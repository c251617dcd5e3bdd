#pragma once
// One method's calibration as `longhaul calibrate` runs and shows it: alone, or as a part of all.

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
  virtual std::string_view unit() const = 0;  ///< what a step is: "prompts"
  virtual Calibration& search() = 0;
  /// Whether there is anything yet to show or write. UserError where nothing can be.
  virtual bool has_result() const = 0;

  // Of the best so far:
  virtual void print() const = 0;
  virtual nlohmann::ordered_json json() const = 0;
  virtual CalibrationSection section() const = 0;
  /// The files of a profile whose names begin with `prefix`: the first is the profile.
  virtual std::vector<std::filesystem::path> files(const std::string& prefix) const = 0;
  virtual void write(const std::string& prefix) const = 0;
  /// What flags of the method alone ask to be written.
  virtual void write_named() const {}
};

/// What the parts read: it outlives them.
struct CalibrationInput {
  const CalibrateFlags& flags;
  std::shared_ptr<const Engine> engine;
  const EvalData& data;
  Queue queue;  ///< of --device
};

// UserError where the model cannot be calibrated so.
std::unique_ptr<CalibrationPart> duo_part(const CalibrationInput& input);
std::unique_ptr<CalibrationPart> trianglemix_part(const CalibrationInput& input);
std::unique_ptr<CalibrationPart> ltri_part(const CalibrationInput& input);
std::unique_ptr<CalibrationPart> reattention_part(const CalibrationInput& input);
std::unique_ptr<CalibrationPart> minference_part(const CalibrationInput& input);

struct CalibratedMethod {
  std::string_view name, what;
  std::unique_ptr<CalibrationPart> (*make)(const CalibrationInput& input);
  std::string_view only_here = {};  ///< why it runs on the CPU alone; empty: it does not
};
std::span<const CalibratedMethod> calibrated_methods();

/// Runs what is left of a part, its state in a file after every step (empty: nowhere), with a
/// progress bar. False: Ctrl-C ended it.
bool run_part(CalibrationPart& part, const CalibrateFlags& flags, const std::string& state);

/// Of --lengths, or `usual` as far as the model was trained for (at least one of them).
std::vector<int64_t> lengths_or(const std::vector<int64_t>& asked, const Engine& engine,
                                std::vector<int64_t> usual);
std::vector<std::string> tasks_or(const CalibrateFlags& flags, std::string_view usual);
/// A dense session on the host in the type of products that --compute asks for.
SessionOptions session_of(const CalibrateFlags& flags);
/// The same where --device says; with `auto` on the host where the device cannot read `tokens`.
SessionOptions session_of(const CalibrationInput& input, int64_t tokens);
/// Where gradients of texts of up to `tokens` tokens are computed (`keep`:
/// FrozenDecoder::device_bytes). With `auto` on the host where the device has no room or no form
/// for the weights; else UserError.
Queue training_queue(const CalibrationInput& input, int64_t tokens, bool keep);
/// UserError where --device names a GPU for a method that runs on the host alone.
void expect_place(const CalibrateFlags& flags, const CalibratedMethod& method);
/// The input as a method takes it: such a one on the host.
CalibrationInput placed(const CalibrationInput& input, const CalibratedMethod& method);

/// "0", "1", ...: layers or heads.
std::vector<std::string> numbers_to(size_t count);

/// A number of 0..1 for every head of every layer; "layer 3, KV head 1: gate 0.250" is one of a
/// `head` "KV head" and a `what` "gate ". Layers may have fewer heads than others.
HeatMap map_of_heads(std::string title, std::string_view head, std::string_view what, int digits,
                     const std::vector<std::vector<double>>& numbers);

}  // namespace longhaul
