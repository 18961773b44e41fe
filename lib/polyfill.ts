/** `Symbol.dispose` and `Symbol.asyncDispose` for Node before 20.4, where V8 and Node lack them. */
for (const name of ['dispose', 'asyncDispose'] as const) {
  if (typeof Symbol[name] === 'symbol') continue
  Object.defineProperty(Symbol, name, { value: Symbol(`Symbol.${name}`) })
}
