// Package bundle opens a WACZ file for the audit, of this crawler or of any other: it holds every file in it against
// the manifest, the manifest against its digest and signatures, and puts archive and ledger where the audit reads
// them.
//
// What is checked is what https://specs.webrecorder.net/wacz/1.1.1/ and
// https://specs.webrecorder.net/wacz-auth/0.1.0/ ask for: the manifest lists each file with its size and SHA-256,
// nothing stands in the archive beside it, no name is there twice, datapackage-digest.json holds the manifest's
// SHA-256, and a signature is of that hash and by the key beside it.
//
// A signature proves that the file is as the owner of a key packed it. Whose key that is, who vouches for a
// certificate and what a time stamp says is not looked into, and Result.CannotShow says so.
//
// # Hostile files
//
// Names are not believed: what is unpacked gets a name of the package's own, in the folder that the caller gives.
// Manifests are bounded, sizes are counted as they come, and what unpacks to far more than it is is refused.
package bundle
