// The module longhaul._longhaul: thin classes. The package in py/longhaul gives them their public
// form, with names, defaults and documentation.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/error.h"
#include "engine_thread.h"
#include "model_binding.h"
#include "reply_binding.h"

namespace longhaul::python {
void bind_reply_reader(nb::module_& m);  // reply_reader.cc
}

NB_MODULE(_longhaul, m) {
  using namespace longhaul;
  nb::exception<UserError>(m, "UserError", PyExc_ValueError);
  python::bind_model(m);
  python::bind_text(m);
  python::bind_job(m);
  python::bind_observation(m);
#ifdef LONGHAUL_SERVE
  python::bind_reply_reader(m);
#endif
  m.def("stop", [] {
    nb::gil_scoped_release release;
    python::EngineThread::stop();
  });
  m.attr("version") = LONGHAUL_VERSION;
}
