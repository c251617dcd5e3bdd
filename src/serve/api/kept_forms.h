#pragma once
// Keeps the constraints of earlier requests. Clients send the same tools and schemas many times,
// and replies with the same constraint share its tables.

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "grammar/constraint.h"

namespace longhaul::serve {

struct KeptForm {
  std::optional<grammar::Constraint> constraint;  ///< empty: replies are free
  std::string prompt_end;                         ///< ForcedCall::prompt_end
};

/// The constraints that were used last. Any thread may use it.
class KeptForms {
 public:
  using Vocabulary = std::shared_ptr<const grammar::TokenTrie>;

  static constexpr size_t kMostForms = 32;
  /// Older forms are dropped if the tables of all forms need more bytes.
  static constexpr size_t kMostBytes = size_t{32} << 20;

  /// Returns the form of `key`, which contains the text from which the form is compiled. If no form
  /// with this key and this vocabulary is kept, `make` creates it.
  KeptForm of(const std::string& key, const Vocabulary& vocabulary,
              const std::function<KeptForm()>& make);
  size_t size() const;

 private:
  struct Entry {
    std::string key;
    Vocabulary vocabulary;
    KeptForm form;
  };

  std::optional<KeptForm> find(const std::string& key, const Vocabulary& vocabulary);
  void drop_old();

  mutable std::mutex mutex_;
  std::deque<Entry> forms_;  ///< the form that was used last is the first
};

}  // namespace longhaul::serve
