// Package fetch implements HTTP/1.1 for the crawler. One call of Fetcher.Do is one exchange: one request, one response,
// HTTP/1.1 over a connection of our own. A fault of the other side is a value (Exchange.Failure); what goes wrong on
// our side (cancellation, spool disk, misuse) is an error.
//
// # The course of an exchange
//
//	idle connection ──────────────────────────────┐
//	resolve ─▶ guard ─▶ dial ─▶ TLS handshake ────┴▶ send ─▶ head ─▶ body ─▶ connection idle, or closed
//	   │         │        │          │                 │       │       │
//	  dns     opt-out   connect     tls              reset   reset   incomplete
//	nxdomain  private   timeout   timeout           timeout timeout  timeout
//	                                                       protocol  protocol, coding
//
// The name is resolved by us, the guard judges the addresses after resolution, and exactly one that it passed is
// dialled, in digits: nothing is resolved a second time, so a name that changes its answer (DNS rebinding) gains
// nothing. A caller that wants to know the address first (a crawl that spaces its exchanges by address) asks Addresses
// and names one in Request.Addr: the exchange goes there or nowhere, and the guard judges it again. At most 64 look-ups
// are under way, those that take over a second not counted, of one name at most one; answers are kept for a minute,
// failures not. Without Request.Addr, of several addresses the refused ones are left out; the others are tried in the
// resolver's order, at most three, the next one only when the connection could not be made. Where a name has IPv4 and
// IPv6 addresses, the second that is tried is of the other kind than the first (RFC 8305 4). If none is left the
// exchange fails with PrivateAddress. An address that opted out (Config.Refuse) is left out like those, and a
// connection that was kept is judged again before each exchange.
//
// # Octets
//
// The request head is written by us, octet for octet what Exchange.Request holds, its target the octets of
// canon.URL.RequestURI. Config.Signer adds its lines at the moment of sending, behind all others. The response is kept as it crossed the connection (above TLS), before any parser saw it:
// Exchange.Response begins with the status line of the final response and ends with its last octet, chunk framing
// and content coding in place. Interim responses (1xx; RFC 9110 15.2) are read and left out, because readers of
// WARC expect the block to begin with the final status line; Exchange.Interim counts them. When an exchange fails,
// Response holds all that had come.
//
// Exchange.Body is decoded: without transfer coding, and without content codings, as package coding undoes them. A
// coding that it cannot undo stays; Exchange.Undecoded names it.
//
// # Bounds
//
//   - Response head, interim responses included: 64 KiB, and at most 16 interim responses.
//   - Body: MaxBody octets decoded, and 2·MaxBody + 64 KiB octets taken from the connection, whatever they decode to.
//     A declared Content-Length over MaxBody stops before the body, unless Request.Partial asks for its beginning.
//   - Decoders: as package coding bounds them; they are kept for the next body.
//   - Rate: Config.MaxRate octets per second over all connections. Waiting for it is nobody's time-out.
//   - Memory: 256 KiB each of response and decoded body; the rest lies in a temporary file, unlinked as soon as it
//     is open where the system allows that, so that a kill leaves none behind. A body that needs no decoding is not
//     kept twice.
//   - Speed: from the first octet on, Config.MinRate octets per second on average over each Config.SpeedSpan.
//   - Time: look-up, connect, TLS handshake, first octet, idleness, the whole. Deadlines of the connection bound
//     every read and write; cancellation of the context sets a deadline in the past. No goroutine waits on a connection
//     (crypto/tls keeps one while a handshake lasts).
//   - Idle connections: one per authority, 512 in all, for a few seconds.
//
// # Connections
//
// A connection is kept only after a response that ended where its framing says, without "Connection: close" and
// with nothing behind it. One that has octets or an end waiting when its turn comes again is dropped. If a reused
// connection proves dead before it takes any octet of the request, the request is sent on a fresh one, within the
// same exchange (RFC 9112 9.3.1). One that went out may have been heard, and is not repeated.
//
// # Never
//
// No redirect is followed, no cookie kept, no Referer sent, no proxy used unless Config.Proxy names it, no request retried but the one above, no
// certificate accepted unverified, no HTTP/2, no identity but the configured one. Without a contact that can be
// reached nothing is asked of any host but loopback (politeness rule 2), whatever the caller forgot to check.
package fetch
