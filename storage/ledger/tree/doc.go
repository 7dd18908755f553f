// Package tree implements the Merkle tree over the lines of a ledger (RFC 6962, 2.1), and its tiles.
//
// An entry is a line of the ledger without its newline; its index is the number of lines before it. Its hash is of the line's
// public form: the fields that name other sites (via, seed, tag), after a salt at its end, are replaced by their digest. So
// an entry can be shown to the owner of one site without naming another, and its hash does not reveal a guess.
//
// The hashes are in files of 256 (https://c2sp.org/tlog-tiles), so that a proof reads no lines. They follow from the lines:
// a tile is not made durable, and a missing or changed one is found when it is read, since each hash is checked against the
// root of a checkpoint. Rebuild makes them again. ProveMany proves many entries with no node twice: the proof of a hundred
// lines of a hundred thousand is a third as long.
package tree
