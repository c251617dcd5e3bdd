#pragma once
// A prompt whose reading is cancelled half-way.

#include "engine/session.h"

namespace longhaul::testing_support {

/// Cancels at the end of the pass with which half of the prompt is read. `cancel` must outlive it.
inline PrefillHooks until_half_way(CancelFlag& cancel) {
  PrefillHooks hooks;
  hooks.cancel = &cancel;
  hooks.progress = [&cancel](int64_t done, int64_t total) {
    if (2 * done >= total) cancel.request();
  };
  return hooks;
}

}  // namespace longhaul::testing_support
