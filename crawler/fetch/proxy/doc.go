// Package proxy leads a connection through a proxy: by CONNECT (RFC 9110 9.3.6) or SOCKS 5 (RFC 1928, 1929). It dials
// nothing itself, and resolves no name: it speaks over a connection to the proxy that somebody else has made, and whose
// deadline somebody else has set.
//
// The user and password of a proxy leave this package over that connection alone. Nothing that it prints has them: not
// String, not an error, and not what a proxy answers, of which an error tells the status code and never a word.
//
// A Fault is what went wrong before a connection to the target stood. Its Kind says whom to blame, as far as that can be
// told: a proxy that cannot be used at all, one that behaves oddly, or one that says that it cannot reach the target.
package proxy
