#pragma once
// A prompt that is cancelled half-way.

#include "engine/session.h"

namespace longhaul::testing_support {

/// Cancels at the end of the pass that completes half of the prompt. `cancel` must outlive the
/// hooks.
inline PrefillHooks until_half_way(CancelFlag& cancel) {
  PrefillHooks hooks;
  hooks.cancel = &cancel;
  hooks.progress = [&cancel](int64_t done, int64_t total) {
    if (2 * done >= total) cancel.request();
  };
  return hooks;
}

}  // namespace longhaul::testing_support
