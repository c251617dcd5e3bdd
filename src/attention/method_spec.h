#pragma once
// A method with its options, as `--attention NAME[:key=value,...]` says it.

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
  /// Throws UserError: an unknown name (with the list), an unknown key (with the method's keys), a
  /// key given twice, a value that is no number or out of range (with the range), an option
  /// that has no effect with another that is given. `methods` must outlive the result.
  static MethodSpec parse(std::string_view text,
                          std::span<const MethodInfo> methods = attention_methods());

  /// The method `name` with options joined by +, as OptionKind::kPartOptions has them.
  static MethodSpec parse_part(std::string_view name, std::string_view options,
                               std::span<const MethodInfo> methods = attention_methods());

  /// Another default of an option, for a method that is a part of another: below what the text
  /// names and what a model's profile says.
  void set_default(std::string_view key, std::string_view value);

  const MethodInfo& info() const { return *info_; }
  /// Canonical texts of all options, defaults filled in.
  const OptionValues& values() const { return values_; }
  /// The same with the model's profile (profile_path) in place of defaults; itself when it
  /// already is that. Throws UserError where an option that the text names has no effect, defaults
  /// and profile considered; what they themselves say without effect is not used.
  MethodSpec for_model(const ModelShape& shape) const;
  /// The canonical text: name and, sorted, the options that differ from what the bare name means
  /// (for the model, after for_model()).
  std::string text() const;
  /// Differs where any option does that has an effect, or the contents of a file that one names:
  /// what the method is, while text() may stay the same (after for_model()).
  uint64_t fingerprint() const;
  /// Whether an option that the text names makes the method, or a part of it, write.
  bool writes() const;
  /// The method for a model, with its profile, ready to run. Throws UserError where that lacks what
  /// the method needs, and what the method itself refuses.
  std::unique_ptr<AttentionDriver> make(const ModelShape& shape) const;
  /// The same as a part of another method.
  std::unique_ptr<Method> make_method(const ModelShape& shape) const;

 private:
  MethodSpec for_profile(const std::string& prefix) const;
  bool is_given(std::string_view key) const;
  std::string flag() const;  ///< as errors name it: "--attention snapkv"
  const Option& option(std::string_view key) const;
  /// The method's options, filled with the values, so that conditions can be asked.
  OptionSet filled() const;
  void refuse_idle(bool given_only) const;
  /// The method whose options an option holds, before its profile; none where that has no effect.
  std::optional<MethodSpec> part(const OptionSet& set, const Option& option) const;
  void check_part(const OptionSet& set, const Option& option) const;

  std::span<const MethodInfo> methods_;
  const MethodInfo* info_ = nullptr;
  OptionSet options_;  ///< at their defaults: what there is
  OptionValues values_;
  std::vector<std::string> given_;             ///< keys that the text names
  std::optional<std::string> profile_prefix_;  ///< of the model that it is for
  OptionValues profile_;                       ///< of that model's profile
};

/// What a method refuses, refused before any work: a harness that runs several methods, or one for
/// hours, asks this of each of them first. Makes the method for the model and has it plan `prompt`,
/// one that it will be given, without reading any of it. Throws the UserError that a session with
/// these settings would: options and files that do not fit the model, a type in which rows cannot
/// be kept, a prompt that is refused (no instruction, too long). Longer prompts may still be.
/// prompt.chunk = 0: as the engine does by itself.
void check_method(const MethodSpec& method, const ModelShape& shape, const KvType& kv_type,
                  PromptFacts prompt);

}  // namespace longhaul
