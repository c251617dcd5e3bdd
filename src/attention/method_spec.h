#pragma once
// MethodSpec is an attention method with its options, as given by `--attention
// NAME[:key=value,...]`.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention/driver.h"
#include "attention/profile.h"
#include "attention/registry.h"

namespace longhaul {

class MethodSpec {
 public:
  /// Parses the text after `--attention`. Throws UserError in these cases: the name is unknown; a
  /// key is unknown or given twice; a value is not a number or is out of range; an option has no
  /// effect in combination with another given option. The message lists the valid names, keys or
  /// range. `methods` must outlive the result.
  static MethodSpec parse(std::string_view text,
                          std::span<const MethodInfo> methods = attention_methods());

  /// Parses an inner method, which another method uses for some of its work. `options` holds
  /// KEY=VALUE items joined by + (OptionKind::kPartOptions).
  static MethodSpec parse_part(std::string_view name, std::string_view options,
                               std::span<const MethodInfo> methods = attention_methods());

  /// Changes the default of an option of an inner method. Values from the text and from the model's
  /// profile (attention/profile.h) take precedence.
  void set_default(std::string_view key, std::string_view value);

  const MethodInfo& info() const { return *info_; }
  /// Returns the value of every option as canonical text, including defaults.
  const OptionValues& values() const { return values_; }
  /// Returns a copy whose defaults come from the model's profile (attention/profile.h). Throws
  /// UserError if an option that the text sets has no effect with the values of the other options.
  /// Options of the profile without effect are ignored.
  MethodSpec for_model(const ModelShape& shape) const;
  /// Returns the canonical text of the spec: the name of the method, and the options that differ
  /// from their defaults, sorted by key. After for_model(), values from the model's profile count
  /// as defaults. The option `form` is always included.
  std::string text() const;
  /// Returns the options that the model's profile sets and the text does not, as
  /// KEY=VALUE,KEY=VALUE.... The result is empty if there are none. Call it after for_model().
  std::string profile_text() const;
  /// Returns a hash of all options that have an effect, and of the contents of the input files that
  /// they name. Methods with equal text() can have different fingerprints, because profiles and
  /// files differ. Call it after for_model().
  uint64_t fingerprint() const;
  /// Returns whether an option in the text makes the method or an inner method write a file.
  bool writes() const;
  /// Creates the method for a model, with the options of the model's profile, and its driver.
  /// Throws UserError if a required option is not set, or if the method does not support the model.
  std::unique_ptr<AttentionDriver> make(const ModelShape& shape) const;
  /// Creates the method without a driver, for use as an inner method. Throws like make().
  std::unique_ptr<Method> make_method(const ModelShape& shape) const;

 private:
  MethodSpec for_profile(const std::string& prefix) const;
  void take_from_profile(const std::string& key, const JsonOption& read);
  /// Returns whether an option has a value. `setting` is KEY=VALUE.
  bool has(const std::string& setting) const;
  /// Returns whether the text names an input or output file, for the method or an inner method.
  bool names_files() const;
  bool is_given(std::string_view key) const;
  std::string flag() const;  ///< returns a prefix for error messages: "--attention snapkv"
  const Option& option(std::string_view key) const;
  /// Returns the options of the method with the values of this spec. Conditions between options are
  /// evaluated on the result.
  OptionSet filled() const;
  /// Throws UserError if an option in the text has no effect. If `given_only` is true, options
  /// whose effect depends on options outside the text are not checked, because a profile may set
  /// these.
  void refuse_idle(bool given_only) const;
  /// Returns the inner method that `option` configures, without its profile. Returns nothing if the
  /// option has no effect or does not configure an inner method.
  std::optional<MethodSpec> part(const OptionSet& set, const Option& option) const;
  void check_part(const OptionSet& set, const Option& option) const;

  std::span<const MethodInfo> methods_;
  const MethodInfo* info_ = nullptr;
  OptionSet options_;  ///< all options of the method, with their default values
  OptionValues values_;
  std::vector<std::string> given_;  ///< keys that the text contains
  /// Profile prefix of the model for which the spec was resolved.
  std::optional<std::string> profile_prefix_;
  OptionValues profile_;  ///< options set by the profile of that model
};

/// Checks a method before a long computation. Creates the method for the model and divides `prompt`
/// into passes, without processing it. Throws UserError if options or files do not fit the model,
/// if rows cannot be stored as `kv_type`, or if the method rejects the prompt (no instruction, too
/// long). A longer prompt may still be rejected later. If prompt.chunk is 0, the prompt is divided
/// into as few passes as possible.
void check_method(const MethodSpec& method, const ModelShape& shape, const KvType& kv_type,
                  PromptFacts prompt);

}  // namespace longhaul
