/** The devices of this machine. */
import { fromNative } from './errors.js'
import { loadNative, type NativeCudaStatus, type NativeDeviceInfo } from './native.js'

/** A device octavo can see. */
export interface DeviceInfo extends NativeDeviceInfo {}

/** The CPU first, then every CUDA device. Never fails for a missing driver. Throws OCTAVO_NATIVE_MISSING. */
export function listDevices(): DeviceInfo[] {
  try {
    return loadNative().listDevices()
  } catch (error) {
    throw fromNative(error)
  }
}

/** What can be said about CUDA here; `problem` is a sentence, '' when a device is usable. */
export interface CudaStatus extends NativeCudaStatus {}

/** Never fails for a missing driver. Throws OCTAVO_NATIVE_MISSING. */
export function cudaStatus(): CudaStatus {
  try {
    return loadNative().cudaStatus()
  } catch (error) {
    throw fromNative(error)
  }
}
