#pragma once
// Sends messages to systemd (sd_notify): ready, alive, stopping.

#include <string_view>

namespace longhaul {

class ServiceManager {
 public:
  /// Connects to the socket of the service manager ($NOTIFY_SOCKET), if there is one. The object
  /// must be constructed before a sandbox is entered.
  ServiceManager();
  ~ServiceManager();
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;

  /// Sends "READY=1", "WATCHDOG=1" or "STOPPING=1". Does nothing if there is no service manager.
  void tell(std::string_view message) const;

 private:
  int socket_ = -1;
};

}  // namespace longhaul
