// Package hostmap implements the completeness map of a ledger: first line, count and digest of each host. The tree proves
// that lines are in the log; the map proves that a host has no others.
//
// A host's key is the SHA-256 of the log's origin, a newline and the host. Its value is the text
//
//	FIRST COUNT DIGEST
//
// of the index of its first entry, the number of its entries, and hexadecimal d: 32 zero bytes, and with each entry in order
// d = SHA-256(d, entry hash). The map is a binary trie over the bits of the keys, most significant first. A range without a
// key is 32 zero bytes; one with one key is
//
//	SHA-256(0x00, key, SHA-256(value))
//
// at any depth; any other is SHA-256(0x01, left half, right half). The key determines the place of an entry, so no root has
// two for one host, and a proof, the hashes beside the path, names no other host. An absent host is shown by an empty range,
// or by the one other entry of its range, with key and hashed value.
//
// It follows the tries of CONIKS (Melara et al., 2015) without verifiable random functions: a key reveals a guessed host.
package hostmap
