// Package witness cosigns checkpoints of logs that it follows, asks other witnesses to do so, and tells whether two
// views of a log are of one log (https://c2sp.org/tlog-witness, https://c2sp.org/tlog-cosignature).
//
// # What a cosignature says
//
// A witness states: at this time, this was the largest tree of the log that I have seen, and it continues every one that
// I stated before. So all who believe one witness see one log. A log that shows two people two histories needs two
// witnesses that do not speak to each other.
//
// # The promise and how it is kept
//
// A witness never cosigns two checkpoints of one origin of which neither continues the other, whatever it is sent, by
// how many at once, and wherever it is killed. Witness.Add is the only place that signs. For each origin it goes, under a
// lock of that origin:
//
//	request ─▶ followed? signed? ─▶ old size = kept size? ─▶ proof holds? ─▶ cosign ─▶ keep durably ─▶ answer
//	                │ 404, 403            │ 409 + kept size       │ 422                    │
//	                ▼                     ▼                       ▼                        └ killed before: nothing left
//	                refused               refused                 refused                    killed after: kept, asked again
//
// What is kept is the note itself with the cosignature, one file for each origin, replaced whole (frontier/durable). Open
// reads all of them, and refuses a folder with one that is damaged or not cosigned by the folder's key: a witness that
// forgot would sign forks. A folder is held by one process (durable.Hold). A clock that is set back makes it refuse:
// it would contradict what it stated.
//
// # Who is followed
//
// Logs is a list of origins, each with the keys that sign for it. NAME/* is every origin below a name, as those of an
// operator's crawls are below the name of the key that the first checkpoint is signed with; a key alone is all below its
// own name. List is that list in a file, read anew when the file has changed. A log that is not listed any more is
// refused and not forgotten.
//
// # Other side
//
// Client asks a witness by HTTP, learns the size that it has from its refusal, and proves consistency from there. Relate
// says of two Views whether one continues the other. Two notes of one size, signed by one key, with different roots are
// evidence by themselves: a witness keeps both (folder forks) when it meets them.
//
// # Never
//
// Nothing here reads lines of a ledger; who has a ledger gives proofs. No key but the witness's own is held. A Witness
// starts no goroutine; Serve owns those of its server and waits for them.
package witness
