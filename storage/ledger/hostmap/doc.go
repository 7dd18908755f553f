// Package hostmap implements the completeness map of a ledger: first line, count and digest of each host.
//
// That lines are in a log is proven by its tree. That a host has no others needs an index that the log commits to:
// whoever leaves a line of a host out of a proof states another count and another digest than the map.
//
// # The map
//
// A host's key is the SHA-256 of the log's origin, a newline and the host. Its value is the text
//
//	FIRST COUNT DIGEST
//
// of the index of its first entry, the number of its entries, and, in hexadecimal digits, d: 32 zero octets, and with
// each entry in their order d = SHA-256(d, entry hash). Over the bits of the keys, the most significant first, stands a
// binary trie. A range that holds no key is 32 zero octets; one that holds one key is
//
//	SHA-256(0x00, key, SHA-256(value))
//
// however deep it lies; any other is SHA-256(0x01, left half, right half). Since the key says where an entry lies, no
// root has two for one host, and a proof names nobody else: it consists of the hashes beside the path. That a host has no
// entry is shown by an empty range, or by the one other entry of its range, whose key and hashed value are told.
//
// The map is not the tree of RFC 6962: that one is ordered by time. It follows the tries of CONIKS (Melara et al., 2015)
// without their verifiable random functions: a key can be guessed by whoever guesses the host.
package hostmap
