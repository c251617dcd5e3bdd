#pragma once
// One method's calibration in `longhaul calibrate`: alone, or as a part of all.

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
  virtual std::string_view unit() const = 0;  ///< name of a step: "prompts"
  virtual Calibration& search() = 0;
  /// Whether there is anything to show or write so far. UserError if there cannot be.
  virtual bool has_result() const = 0;

  // For the best result so far:
  virtual void print() const = 0;
  virtual nlohmann::ordered_json json() const = 0;
  virtual CalibrationSection section() const = 0;
  /// The files of a profile with names that begin with `prefix`: the first is the profile.
  virtual std::vector<std::filesystem::path> files(const std::string& prefix) const = 0;
  virtual void write(const std::string& prefix) const = 0;
  /// Writes the files requested by flags specific to the method.
  virtual void write_named() const {}
};

/// Input of the parts; it must outlive them.
struct CalibrationInput {
  const CalibrateFlags& flags;
  std::shared_ptr<const Engine> engine;
  const EvalData& data;
  Queue queue;  ///< queue of --device
};

// UserError if the model cannot be calibrated for the method.
std::unique_ptr<CalibrationPart> duo_part(const CalibrationInput& input);
std::unique_ptr<CalibrationPart> trianglemix_part(const CalibrationInput& input);
std::unique_ptr<CalibrationPart> ltri_part(const CalibrationInput& input);
std::unique_ptr<CalibrationPart> reattention_part(const CalibrationInput& input);
std::unique_ptr<CalibrationPart> minference_part(const CalibrationInput& input);

struct CalibratedMethod {
  std::string_view name, what;
  std::unique_ptr<CalibrationPart> (*make)(const CalibrationInput& input);
  std::string_view only_here = {};  ///< why it runs only on the CPU; empty: no such restriction
};
std::span<const CalibratedMethod> calibrated_methods();

/// Runs the remaining steps of a part with a progress bar, and saves its state to a file after
/// every step (empty: no file). Returns false if Ctrl-C ended it.
bool run_part(CalibrationPart& part, const CalibrateFlags& flags, const std::string& state);

/// The value of --lengths, or `usual` limited to the trained context (at least one of them).
std::vector<int64_t> lengths_or(const std::vector<int64_t>& asked, const Engine& engine,
                                std::vector<int64_t> usual);
std::vector<std::string> tasks_or(const CalibrateFlags& flags, std::string_view usual);
/// A dense session on the host with the compute type of --compute.
SessionOptions session_of(const CalibrateFlags& flags);
/// A dense session on the device of --device; with `auto` on the host if the device cannot read
/// `tokens` tokens.
SessionOptions session_of(const CalibrationInput& input, int64_t tokens);
/// Queue for gradients of texts of up to `tokens` tokens (`keep`: FrozenDecoder::device_bytes).
/// With `auto` it is the host if the device has too little memory or does not support the weights;
/// otherwise that is a UserError.
Queue training_queue(const CalibrationInput& input, int64_t tokens, bool keep);
/// UserError if --device names a GPU for a method that runs only on the host.
void expect_place(const CalibrateFlags& flags, const CalibratedMethod& method);
/// The input for a method: on the host if the method runs only there.
CalibrationInput placed(const CalibrationInput& input, const CalibratedMethod& method);

/// "0", "1", ...: layers or heads.
std::vector<std::string> numbers_to(size_t count);

/// A value in 0..1 for every head of every layer; "layer 3, KV head 1: gate 0.250" has a `head` "KV
/// head" and a `what` "gate ". Layers may have different numbers of heads.
HeatMap map_of_heads(std::string title, std::string_view head, std::string_view what, int digits,
                     const std::vector<std::vector<double>>& numbers);

}  // namespace longhaul
