#include "binding/audit_results.h"

#include "binding/device_values.h"

namespace octavo {

Napi::Object makeAudit(Napi::Env env, const MemoryAudit& audit) {
  const auto number = [&](auto value) { return Napi::Number::New(env, static_cast<double>(value)); };
  Napi::Array regions = Napi::Array::New(env);
  for (int index = 0; index < kRegionCount; ++index) {
    const AuditRegion& region = audit.regions[index];
    Napi::Object made = Napi::Object::New(env);
    made.Set("region", regionName(static_cast<Region>(index)));
    made.Set("plannedBytes", number(region.plannedBytes));
    made.Set("heldBytes", number(region.heldBytes));
    made.Set("ledgerBytes", number(region.ledgerBytes));
    regions.Set(regions.Length(), made);
  }
  Napi::Object made = Napi::Object::New(env);
  made.Set("ledgerTime", number(audit.ledgerTime));
  made.Set("driverTime", number(audit.driverTime));
  made.Set("regions", regions);
  made.Set("contextBytes", number(audit.contextBytes));
  made.Set("driver", toValue(env, audit.driver));
  made.Set("driverBytes", number(audit.driverBytes));
  made.Set("deviceBytes", number(audit.deviceBytes));
  made.Set("residualBytes", number(audit.residualBytes));
  made.Set("limitBytes", number(audit.limitBytes));
  made.Set("mappedResidentBytes", number(audit.mappedResidentBytes));
  return made;
}

}  // namespace octavo
