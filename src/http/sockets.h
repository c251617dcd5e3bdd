#pragma once
// Defines the members of EventLoop that need Asio, for files that use sockets.

#include <boost/asio/io_context.hpp>

#include "http/event_loop.h"

namespace longhaul::http {

struct EventLoop::Sockets {
  boost::asio::io_context context{1};
};

}  // namespace longhaul::http
