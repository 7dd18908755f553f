// Package pdf finds the links of a PDF file: its URI actions (ISO 32000-2 12.6.4.8), which link annotations, outlines and
// forms have. Text that looks like a URL is no link.
//
// # One pass
//
// Find goes through the file once, from its first byte to its last, and looks at each dictionary that it meets: one with
// /S /URI is an action, and its /URI is the link. It does not look at the cross-reference table, nor at the tree of pages.
// So it reads damaged files as well as others, follows no reference, and cannot be led in circles. It also finds actions
// that a later revision of the file no longer shows.
//
//	file ─ tokens ─┬─ dictionaries: actions
//	               └─ streams: object streams are inflated and read likewise, one level deep; others are passed over
//
// # What bounds it
//
//   - MaxSize bytes of the file, MaxInflated bytes of all object streams together, and MaxLinks links.
//   - maxDepth arrays and dictionaries within each other. They are frames of a slice: nothing recurses.
//   - The time is linear in the bytes of the file and of its object streams; a done context ends it within 64 KiB.
//   - A panic is a reason like any other.
//
// # What is not read
//
// Result.Unread says why links are missing, in one of the words of this package. The strings of an encrypted file are
// unreadable, so none of them is given out. Links beyond a bound are missing, those before it are given out. Not read
// are actions whose /URI is a reference to a string elsewhere, the addresses of other kinds of action (GoToR, Launch,
// SubmitForm, scripts), and /Base of the catalog.
package pdf
