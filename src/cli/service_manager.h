#pragma once
// Notifies systemd about the state of a server (the protocol of sd_notify).

#include <string_view>

namespace longhaul {

class ServiceManager {
 public:
  /// Connects to systemd's socket ($NOTIFY_SOCKET) if the variable is set. The object must be
  /// constructed before the sandbox is entered.
  ServiceManager();
  ~ServiceManager();
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;

  /// Sends "READY=1", "WATCHDOG=1" or "STOPPING=1". Does nothing if there is no socket.
  void tell(std::string_view message) const;

 private:
  int socket_ = -1;
};

}  // namespace longhaul
