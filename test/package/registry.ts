/** A package registry on the loopback that has one tarball and sends every other question on. */
import { createHash } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Registry extends AsyncDisposable {
  url: string
}

interface Manifest {
  name: string
  version: string
}

/** What a registry answers for a package of one version. */
function packument(manifest: Manifest, tarball: Buffer, url: string): object {
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`
  const dist = { tarball: `${url}/${manifest.name}.tgz`, integrity }
  return {
    name: manifest.name,
    'dist-tags': { latest: manifest.version },
    versions: { [manifest.version]: { ...manifest, dist } },
  }
}

export async function startRegistry(manifest: Manifest, tarballFile: string): Promise<Registry> {
  const upstream = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim()
  const tarball = readFileSync(tarballFile)
  let url = ''
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    if (request.url === `/${manifest.name}`) {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(packument(manifest, tarball, url)))
    } else if (request.url === `/${manifest.name}.tgz`) {
      response.end(tarball)
    } else {
      response.writeHead(302, { location: new URL(request.url ?? '/', upstream).href }).end()
    }
  }
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
