#include "serve/api/kept_forms.h"

#include <algorithm>

namespace longhaul::serve {

KeptForm KeptForms::of(const std::string& key, const Vocabulary& vocabulary,
                       const std::function<KeptForm()>& make) {
  if (std::optional<KeptForm> known = find(key, vocabulary)) return *known;
  KeptForm form = make();  // without the lock, because large schemas need time
  const std::scoped_lock lock(mutex_);
  forms_.push_front({key, vocabulary, form});
  drop_old();
  return form;
}

std::optional<KeptForm> KeptForms::find(const std::string& key, const Vocabulary& vocabulary) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find_if(forms_, [&](const Entry& entry) {
    return entry.key == key && entry.vocabulary == vocabulary;
  });
  if (found == forms_.end()) return {};
  std::rotate(forms_.begin(), found, found + 1);
  return forms_.front().form;
}

/// The form that was used last remains, whatever its size is.
void KeptForms::drop_old() {
  size_t kept = 0, bytes = 0;
  for (const Entry& entry : forms_) {
    bytes += entry.key.size();
    if (entry.form.constraint) bytes += entry.form.constraint->shared_memory_bytes();
    if (kept > 0 && (kept == kMostForms || bytes > kMostBytes)) break;
    ++kept;
  }
  forms_.erase(forms_.begin() + static_cast<ptrdiff_t>(kept), forms_.end());
}

size_t KeptForms::size() const {
  const std::scoped_lock lock(mutex_);
  return forms_.size();
}

}  // namespace longhaul::serve
