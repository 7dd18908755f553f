// Package tree implements the Merkle tree over the lines of a ledger (RFC 6962, 2.1), and its tiles.
//
// # Entries
//
// A line of the ledger, without its newline, is an entry; its index is the number of lines before it. What is hashed is
// the line's public form: the fields that lead to other sites (via, seed, tag) stand at its end, behind a salt, and are
// replaced by their digest. So an entry can be shown to the owner of one site without naming another, and its hash
// cannot be guessed by who has not seen it.
//
// # Tiles
//
// The hashes lie in files of 256 beside the lines (https://c2sp.org/tlog-tiles), so that a proof reads a few of them and
// no lines. They hold nothing that the lines do not: a tile is not made durable, and one that is missing, torn or
// changed is found when it is read, since every hash is checked against the root of a checkpoint. Rebuild makes them
// anew.
//
// # Proofs
//
// Package tlog of golang.org/x/mod proves one entry, and that one tree continues another. ProveMany proves many entries
// of one tree at once, with no node twice: the proof of a hundred lines of a hundred thousand is a third as long.
package tree
