// Package checkpoint signs, parses and verifies the checkpoints of a ledger.
//
// A checkpoint is a C2SP signed note (https://c2sp.org/tlog-checkpoint, https://c2sp.org/signed-note): the log's origin,
// its size, the root hash of its Merkle tree (RFC 6962), a blank line, and signatures. The operator's key signs it.
// Witnesses add cosignatures, which state when they saw it (https://c2sp.org/tlog-cosignature).
//
// A ledger without a key has checkpoints without signatures: the same text, with nothing behind its blank line.
//
// Keys are Ed25519 (RFC 8032). An operator's key is named after itself, curtsy- and the first eight digits of its
// SHA-256, so a key has one name wherever it is read. A verifier key is the line NAME+HASH+BASE64 of the signed-note
// specification. Who changes the key signs a rotation with the old one and the new one.
//
// Notes come from anybody: Parse bounds their size and the number of signatures, and checks no signature. SignedBy and
// Cosigned do, each for one key that the caller trusts or wants to know about.
package checkpoint
