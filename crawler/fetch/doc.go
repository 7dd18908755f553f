// Package fetch implements HTTP/1.1 for the crawler. One call of Fetcher.Do is one exchange: one request, one response.
// A fault of the host is a value (Exchange.Failure); cancellation, a full disk and misuse are errors.
//
//	idle connection ──────────────────────────────┐
//	resolve ─▶ guard ─▶ dial ─▶ TLS handshake ────┴▶ send ─▶ head ─▶ body ─▶ connection idle, or closed
//	   │         │        │          │                 │       │       │
//	  dns     opt-out   connect     tls              reset   reset   incomplete
//	nxdomain  private   timeout   timeout           timeout timeout  timeout
//	                                                       protocol  protocol, coding
//
// The guard judges addresses after resolution, and exactly one that passed is dialled, so that DNS rebinding has
// no effect. A caller that spaces exchanges by address calls Addresses and sets Request.Addr. Otherwise at most three
// addresses are tried, the next one only when no connection was made; the second is of the other family than the first
// if there is one (RFC 8305 4). At most 64 lookups run at once, those over a second not counted; results are kept for a
// minute, failures are not.
//
// Exchange.Request and Exchange.Response hold the bytes as they crossed the connection (above TLS). Response begins
// with the status line of the final response, because readers of WARC expect that; Exchange.Interim counts the interim
// responses before it (RFC 9110 15.2). After a failure, Response holds all bytes that came. Exchange.Body is decoded;
// Exchange.Undecoded names a content coding that package coding does not know.
//
// # Bounds
//
//   - Response head, interim responses included: 64 KiB, and at most 16 interim responses.
//   - Body: MaxBody bytes decoded, and 2·MaxBody + 64 KiB bytes read. A declared Content-Length over MaxBody stops
//     before the body, unless Request.Partial asks for its beginning.
//   - Memory: 256 KiB each of response and decoded body; the rest is in a temporary file, unlinked once it is open where
//     the system allows that.
//   - Time: lookup, connect, TLS handshake, first byte, idleness, least speed, whole exchange. Deadlines bound every
//     read and write, and cancellation sets one in the past, so that no goroutine waits on a connection (crypto/tls
//     keeps one during a handshake).
//   - Idle connections: one per authority, 512 in all, for a few seconds.
//
// # Connections
//
// A connection is kept only after a response that ended where its framing says, without "Connection: close" and
// without further bytes. If a reused connection is dead before it takes any byte of the request, the request is sent on
// a fresh one (RFC 9112 9.3.1). A request that went out may have been processed and is not repeated.
//
// The package follows no redirect, keeps no cookie, sends no Referer, accepts no unverified certificate and does not
// speak HTTP/2. Without a reachable contact it sends requests only to loopback (politeness rule 2).
package fetch
