#pragma once
// A method with its options, as given by `--attention NAME[:key=value,...]`.

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
  /// Throws UserError for an unknown name (listing the names), an unknown key (listing the method's
  /// keys), a key given twice, a value that is no number or out of range (with the range), or an
  /// option that has no effect in combination with another given one. `methods` must outlive the
  /// result.
  static MethodSpec parse(std::string_view text,
                          std::span<const MethodInfo> methods = attention_methods());

  /// The method `name` with options joined by +, in the format of OptionKind::kPartOptions.
  static MethodSpec parse_part(std::string_view name, std::string_view options,
                               std::span<const MethodInfo> methods = attention_methods());

  /// Changes the default of an option, for a method that is a part of another one. Values from the
  /// text and from the model's profile take precedence.
  void set_default(std::string_view key, std::string_view value);

  const MethodInfo& info() const { return *info_; }
  /// Canonical texts of all options, with defaults filled in.
  const OptionValues& values() const { return values_; }
  /// A copy whose defaults come from the model's profile (profile_path), or *this if it already has
  /// them. Throws UserError if an option that the text names has no effect, given defaults and
  /// profile. Ineffective values of defaults and profile are ignored.
  MethodSpec for_model(const ModelShape& shape) const;
  /// The canonical text: the name and, sorted, the options that differ from what the bare name
  /// means (for the model, after for_model()).
  std::string text() const;
  /// The options that the model's profile sets and the text does not, as KEY=VALUE,... (after
  /// for_model()); empty: none.
  std::string profile_text() const;
  /// Hash of all effective options and of the contents of the files they name. Two methods with
  /// equal text() may differ in it (after for_model()).
  uint64_t fingerprint() const;
  /// Whether an option in the text makes the method, or a part of it, write a file.
  bool writes() const;
  /// The method for a model, with its profile, ready to run. Throws UserError if the model lacks a
  /// feature that the method needs, or if the method itself refuses it.
  std::unique_ptr<AttentionDriver> make(const ModelShape& shape) const;
  /// Like make(), for a method that is a part of another one.
  std::unique_ptr<Method> make_method(const ModelShape& shape) const;

 private:
  MethodSpec for_profile(const std::string& prefix) const;
  void take_from_profile(const std::string& key, const JsonOption& read);
  /// Whether an option has a value, given as KEY=VALUE.
  bool has(const std::string& setting) const;
  /// Whether the text names a file to read, for the method or a part of it.
  bool names_files() const;
  bool is_given(std::string_view key) const;
  std::string flag() const;  ///< for error messages: "--attention snapkv"
  const Option& option(std::string_view key) const;
  /// The method's options with the values filled in, so that their conditions can be evaluated.
  OptionSet filled() const;
  void refuse_idle(bool given_only) const;
  /// The part method configured by an option, before its profile; none if the option has no effect.
  std::optional<MethodSpec> part(const OptionSet& set, const Option& option) const;
  void check_part(const OptionSet& set, const Option& option) const;

  std::span<const MethodInfo> methods_;
  const MethodInfo* info_ = nullptr;
  OptionSet options_;  ///< all options of the method, at their defaults
  OptionValues values_;
  std::vector<std::string> given_;  ///< keys present in the text
  std::optional<std::string>
      profile_prefix_;    ///< prefix of the model for which the spec was resolved
  OptionValues profile_;  ///< options from that model's profile
};

/// Checks a method before any work is done, for programs that run several methods or one for hours.
/// It makes the method for the model and plans `prompt`, which the method will read later. It
/// throws the UserError that a session with these settings would: options and files that do not fit
/// the model, an unsupported type of stored rows, a refused prompt (no instruction, too long).
/// Longer prompts may still be refused later. prompt.chunk = 0 means the engine's default.
void check_method(const MethodSpec& method, const ModelShape& shape, const KvType& kv_type,
                  PromptFacts prompt);

}  // namespace longhaul
