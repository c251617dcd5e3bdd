#pragma once
// Bindings of replies, and of waiting for them.

#include <nanobind/nanobind.h>

#include <chrono>
#include <memory>

#include "base/cancel.h"
#include "observation.h"
#include "prompt_job.h"

namespace nb = nanobind;

namespace longhaul::python {

/// Waits without the GIL until `ready` returns true; it waits itself for at most the given time. A
/// signal such as Ctrl-C sets `cancel`, waits for the end and raises Python's exception.
template <class Ready>
void wait_with_signals(Ready&& ready, CancelFlag& cancel) {
  constexpr std::chrono::milliseconds kSlice{50};
  bool raised = false;
  for (;;) {
    bool done;
    {
      nb::gil_scoped_release release;
      done = ready(kSlice);
    }
    if (!raised && PyErr_CheckSignals() != 0) {
      raised = true;
      cancel.request();
    }
    if (done) break;
    if (raised) {  // the exception is kept while the engine's thread ends its step
      nb::python_error error;
      {
        nb::gil_scoped_release release;
        while (!ready(kSlice)) {
        }
      }
      throw error;
    }
  }
  if (raised) throw nb::python_error();
}

void bind_job(nb::module_& m);
void bind_observation(nb::module_& m);

}  // namespace longhaul::python
