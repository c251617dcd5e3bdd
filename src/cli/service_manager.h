#pragma once
// Messages to systemd (sd_notify): ready, alive, stopping.

#include <string_view>

namespace longhaul {

class ServiceManager {
 public:
  /// Connects where the manager has named a socket ($NOTIFY_SOCKET); before a sandbox is entered.
  ServiceManager();
  ~ServiceManager();
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;

  /// "READY=1", "WATCHDOG=1", "STOPPING=1"; does nothing without a manager.
  void tell(std::string_view message) const;

 private:
  int socket_ = -1;
};

}  // namespace longhaul
