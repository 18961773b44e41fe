#include "asynchronous/pending.h"

#include "machine/thread.h"

namespace octavo::emulator {

Pending& pending() {
  Thread& me = self();
  if (!me.pending) me.pending = std::make_shared<Pending>();
  return *static_cast<Pending*>(me.pending.get());
}

}  // namespace octavo::emulator
