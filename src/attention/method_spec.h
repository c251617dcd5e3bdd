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
  /// Parses the text. Throws UserError in these cases: the name is unknown; a key is unknown or
  /// given twice; a value is not a number or is out of range; an option has no effect in
  /// combination with another given option. The message lists the valid names, keys or range.
  /// `methods` must outlive the result.
  static MethodSpec parse(std::string_view text,
                          std::span<const MethodInfo> methods = attention_methods());

  /// Parses a method that is a part of another method. `options` holds KEY=VALUE items joined by +
  /// (OptionKind::kPartOptions).
  static MethodSpec parse_part(std::string_view name, std::string_view options,
                               std::span<const MethodInfo> methods = attention_methods());

  /// Changes the default of an option, for a method that is a part of another one. Values from the
  /// text and from the model's profile (attention/profile.h) take precedence.
  void set_default(std::string_view key, std::string_view value);

  const MethodInfo& info() const { return *info_; }
  /// Returns the canonical texts of all options, including defaults.
  const OptionValues& values() const { return values_; }
  /// Returns a copy whose defaults come from the model's profile (attention/profile.h). Throws
  /// UserError if an option in the text has no effect, given the defaults and the profile. Values
  /// of the defaults and the profile that have no effect are ignored.
  MethodSpec for_model(const ModelShape& shape) const;
  /// Returns the canonical text: the name, and the options that differ from their defaults, sorted
  /// by key. After for_model(), the defaults are those of the model's profile. The option `form` is
  /// always included.
  std::string text() const;
  /// Returns the options that are set by the model's profile but not by the text, as KEY=VALUE,....
  /// The result is empty if there are none. Call it after for_model().
  std::string profile_text() const;
  /// Returns a hash of all options that have an effect, and of the contents of the files that they
  /// name. Methods with equal text() can have different fingerprints. Call it after for_model().
  uint64_t fingerprint() const;
  /// Returns whether an option in the text makes the method, or one of its parts, write a file.
  bool writes() const;
  /// Creates the method for a model, with the model's profile. Throws UserError if the model lacks
  /// a feature that the method needs, or if the method rejects the model.
  std::unique_ptr<AttentionDriver> make(const ModelShape& shape) const;
  /// Creates a method that is a part of another one. Otherwise the same as make().
  std::unique_ptr<Method> make_method(const ModelShape& shape) const;

 private:
  MethodSpec for_profile(const std::string& prefix) const;
  void take_from_profile(const std::string& key, const JsonOption& read);
  /// Returns whether an option has a value. `setting` is KEY=VALUE.
  bool has(const std::string& setting) const;
  /// Returns whether the text names an input or output file, for the method or one of its parts.
  bool names_files() const;
  bool is_given(std::string_view key) const;
  std::string flag() const;  ///< returns a prefix for error messages: "--attention snapkv"
  const Option& option(std::string_view key) const;
  /// Returns the options of the method with the values of this spec, for evaluating their
  /// conditions.
  OptionSet filled() const;
  /// Throws UserError if a given option has no effect. If `given_only` is true, an option is not
  /// checked if its effect depends on options that are not given.
  void refuse_idle(bool given_only) const;
  /// Returns the part method that `option` configures, without its profile. Returns nothing if the
  /// option has no effect or does not configure a part.
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

/// Checks a method before a long computation. Creates the method for the model and plans `prompt`,
/// without processing it. Throws the UserError that a session with these settings would throw.
/// Examples are options and files that do not fit the model, an unsupported type of stored rows,
/// and a rejected prompt (no instruction, too long). A longer prompt may still be rejected later.
/// prompt.chunk = 0 means the default of the engine.
void check_method(const MethodSpec& method, const ModelShape& shape, const KvType& kv_type,
                  PromptFacts prompt);

}  // namespace longhaul
