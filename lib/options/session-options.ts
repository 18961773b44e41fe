/** What `engine.createSession` accepts. */
import { OptionReader } from './reader.js'

/** Every field may be left out. */
export interface SessionOptions {
  /**
   * Whose it is, any text. Sessions find each other's KV in the prefix cache only where their tenants are equal: how
   * fast a prompt begins says nothing of what others have asked. Default: one tenant of all who name none.
   */
  tenant?: string | undefined
}

/** SessionOptions with every default filled in. */
export interface SessionSettings {
  tenant: string
}

/** Throws OCTAVO_UNKNOWN_OPTION and OCTAVO_INVALID_ARGUMENT. */
export function readSessionOptions(options: unknown): SessionSettings {
  const read = new OptionReader<SessionOptions>(options, { tenant: true })
  const tenant = read.raw('tenant')
  if (tenant !== undefined && typeof tenant !== 'string') throw read.invalid('tenant', 'a string')
  return { tenant: tenant ?? '' }
}
