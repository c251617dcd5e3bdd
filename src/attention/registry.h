#pragma once
// Every attention method by name: options, defaults, when to use it. Adding a method is one source
// file and one line in registry.cc.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention/method.h"

namespace longhaul {

/// A text holds no comma; a file is the name of one to read.
enum class OptionKind { kInteger, kReal, kBool, kChoice, kText, kFile };

struct OptionInfo {
  std::string_view key;
  OptionKind kind;
  std::string_view fallback;   ///< the default, as text
  std::string_view unit;       ///< "tokens", "share", ...; empty for none
  double least = 0, most = 0;  ///< inclusive range of numbers; both 0: any
  std::string_view choices;    ///< "paper|repo"
  std::string_view help;       ///< one line
  bool writes = false;         ///< names a file to write: for the command line only
};

class MethodOptions;

struct MethodInfo {
  std::string_view name;
  std::string_view summary;  ///< one line: what it keeps
  std::string_view when;     ///< one line: when it helps
  std::string_view paper;
  std::span<const OptionInfo> options;
  std::unique_ptr<AttentionMethod> (*make)(const MethodOptions& options, const ModelShape& shape);
  std::string_view keeps = "";  ///< one sentence: what stays or is seen, what is gone for good
  std::string_view harms = "";  ///< one sentence: what is answered worse with it
};

/// All methods of this build, in the order in which they are listed.
std::span<const MethodInfo> attention_methods();

/// Values of a method's options, checked against their kinds and ranges; defaults filled in.
class MethodOptions {
 public:
  int64_t integer(std::string_view key) const;
  double real(std::string_view key) const;
  bool flag(std::string_view key) const;
  const std::string& text(std::string_view key) const;

 private:
  friend class MethodSpec;
  std::map<std::string, std::string, std::less<>> values_;
};

/// A parsed `--attention NAME[:key=value,...]`.
class MethodSpec {
 public:
  /// Throws UserError: an unknown name (with the list), an unknown key (with the method's keys), a
  /// key given twice, a value that is no number or out of range (with the range). `methods` must
  /// outlive the result.
  static MethodSpec parse(std::string_view text,
                          std::span<const MethodInfo> methods = attention_methods());

  /// Another default of an option, for a method that is a part of another: below what the text
  /// names and what a model's profile says.
  void set_default(std::string_view key, std::string_view value);

  const MethodInfo& info() const { return *info_; }
  const MethodOptions& options() const { return options_; }
  /// The same with the model's profile (attention/profile.h) in place of defaults; itself when it
  /// already is that.
  MethodSpec for_model(const ModelShape& shape) const;
  /// The canonical text: name and, sorted, the options that differ from what the bare name means
  /// (for the model, after for_model()).
  std::string text() const;
  /// Differs where any option does, or the contents of a file that one names: what the method is,
  /// while text() may stay the same (after for_model()).
  uint64_t fingerprint() const;
  /// The method for a model, with its profile.
  std::unique_ptr<AttentionMethod> make(const ModelShape& shape) const;

 private:
  const MethodInfo* info_ = nullptr;
  MethodOptions options_;
  std::vector<std::string> given_;             ///< keys that the text names
  std::optional<std::string> profile_prefix_;  ///< of the model that it is for
  /// Values of that model's profile.
  std::map<std::string, std::string, std::less<>> profile_;
};

}  // namespace longhaul
