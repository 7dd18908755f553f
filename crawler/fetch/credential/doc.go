// Package credential holds what is sent to hosts of the operator's own that ask who comes: header fields, bound to one
// authority (scheme, host and port) each.
//
// A Set gives the fields of an authority, and of no other. Whether that authority is proved to be the operator's own is
// for the caller to know (politeness rule 28). A value is behind a function, so that no way of printing a Field, a Set or
// what holds them shows it; it is read where the octets of a request are made, and where an answer is searched for it.
// The package does no I/O.
package credential
