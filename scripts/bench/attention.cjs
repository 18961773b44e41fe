// Paged attention, decode and prefill: ours beside peer, floor, goal and limit, cold, inside replayed graphs.
//   node scripts/bench/attention.cjs [--list] [--only TEXT]… [--no-peers] [--json ROWS.json] [--record] [--commit HASH]
// The kernels run in octavo-bench-attention (scripts/bench/native), which checks each result against fp64 before it times it:
// built in build/, or named in OCTAVO_BENCH. The peer is PyTorch's SDPA (cuDNN, FA2) for prefill where python3 has it (PYTHON names
// another python), else the quoted figure of attention-bars.json. --record keeps the rows in docs/performance.json; elsewhere
// --json writes them, for `npm run performance -- ROWS.json`.
'use strict'
const { join } = require('node:path')
const { main } = require('./kernels/main.cjs')

main({
  area: 'attention',
  target: 'octavo-bench-attention',
  bars: require('./attention-bars.json'),
  peerScript: join(__dirname, 'attention-torch.py'),
})
