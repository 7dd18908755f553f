// Package checkpoint signs, parses and verifies the checkpoints of a ledger.
//
// A checkpoint is a C2SP signed note (https://c2sp.org/tlog-checkpoint, https://c2sp.org/signed-note): the log's origin,
// its size, the root hash of its Merkle tree (RFC 6962), a blank line, and signatures. The operator's key signs it, unless the
// ledger has no key. Witnesses add cosignatures with the time (https://c2sp.org/tlog-cosignature).
//
// Keys are Ed25519 (RFC 8032). An operator's key is named curtsy- and the first eight digits of its SHA-256. A verifier key
// is the line NAME+HASH+BASE64 of the signed-note specification. Old and new key sign a rotation.
//
// Parse bounds notes from anybody and checks no signature; SignedBy and Cosigned check them for one key.
package checkpoint
