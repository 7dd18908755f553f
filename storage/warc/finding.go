package warc

import "fmt"

// Finding is something in an archive that the standard does not allow, or that a reader does well to know.
type Finding struct {
	Offset int64  // of the record's member, or in a plain file of the record
	Code   string // names the kind; one of the codes below
	Text   string // says it for people; may quote the archive
}

// The codes of a Lenient reader's findings.
const (
	PlainFile      = "plain-file"       // not compressed
	SeveralRecords = "several-records"  // more than one record in a gzip member
	OldVersion     = "old-version"      // before WARC 1.0
	OddVersion     = "odd-version"      // none that we know
	LineFeed       = "line-feed"        // lines of a head end in LF alone
	AngleBrackets  = "angle-brackets"   // around a WARC-Target-URI
	ExtraLines     = "extra-lines"      // empty lines between records
	ShortEnd       = "short-end"        // less than two line ends behind a block
	LengthTwice    = "length-twice"     // the same Content-Length is said twice
	BadField       = "bad-field"        // a line of a head is no field
	NoLength       = "no-length"        // no Content-Length, or none that can be read: the record is passed over
	LongHead       = "long-head"        // too long to be read: the record is passed over
	Garbage        = "garbage"          // octets that are no record
	Torn           = "torn"             // the file ends within a record
	ShortMember    = "short-member"     // a gzip member ends within a record
	DamagedMember  = "damaged-member"   // a gzip member that cannot be decompressed, or with a wrong checksum
	NoEnd          = "no-end-of-record" // other octets than the end of the record behind its block
)

// The codes of a Checker's findings, besides those.
const (
	NoRecord          = "no-record"           // the file holds none
	NoType            = "no-type"             // no WARC-Type
	NoID              = "no-id"               // no WARC-Record-ID
	SameID            = "same-id"             // a record id that another record has
	BadDate           = "bad-date"            // no WARC-Date, or none that can be read
	NoTarget          = "no-target"           // no WARC-Target-URI where one must be
	BlockDigest       = "block-digest"        // the block has another digest
	PayloadDigest     = "payload-digest"      // the payload has another digest
	CodedDigest       = "coded-digest"        // the payload digest is that of the body with its transfer coding
	UnknownDigest     = "unknown-digest"      // of an algorithm or in a form that is not known
	NoWarcinfo        = "no-warcinfo"         // the file begins with no warcinfo record
	MissingWarcinfo   = "missing-warcinfo"    // a record names a warcinfo record that is not there
	MissingConcurrent = "missing-concurrent"  // a record names one of its exchange that is not there
	MissingOriginal   = "missing-original"    // a revisit refers to what is not in the files given
	OtherPayload      = "other-payload"       // a revisit refers to a record with another payload digest
	NoProfile         = "no-profile"          // a revisit without WARC-Profile
	ManyReferences    = "too-many-references" // more open references than are remembered
)

// Note reports whether f is a mere leniency: nothing is lost or in doubt.
func (f Finding) Note() bool {
	switch f.Code {
	case PlainFile, SeveralRecords, OldVersion, LineFeed, AngleBrackets, ExtraLines, ShortEnd, LengthTwice, CodedDigest,
		UnknownDigest, NoWarcinfo, MissingOriginal:
		return true
	}
	return false
}

func (f Finding) String() string { return fmt.Sprintf("%d: %s (%s)", f.Offset, f.Text, f.Code) }
