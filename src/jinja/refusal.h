#pragma once

#include "jinja/budget.h"

namespace longhaul::jinja {

/// What a template says by raise_exception(): it cannot hold these messages.
class Refusal : public Fault {
 public:
  using Fault::Fault;
};

}  // namespace longhaul::jinja
