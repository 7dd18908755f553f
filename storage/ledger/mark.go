package ledger

import (
	"bytes"
	"crypto/sha256"
	"strings"
	"time"

	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/hostmap"
)

// Schema is the version of the schema.
const Schema = 3

// The kinds of marks.
const (
	KindBegin     = "begin"     // a segment begins
	KindRun       = "run"       // a run of the crawl begins
	KindHosts     = "hosts"     // the completeness map of the entries so far, and the end of a checkpoint
	KindFile      = "file"      // a file of archive or index is finished
	KindOptOuts   = "optouts"   // the opt-out list changed while the run went on
	KindKey       = "key"       // the operator's key is another one from here on
	KindRedaction = "redaction" // something was forgotten
	KindOperator  = "operator"  // an operator had the crawl do something
	KindFleet     = "fleet"     // a member of a fleet took or gave slots, or learned of other members
	KindStop      = "stop"      // the run ended in good order
)

// Mark is a line that is no decision. Which fields it has depends on its kind.
type Mark struct {
	Kind string
	Time time.Time // all but begin

	Schema   int    // begin
	Segment  int    // begin
	First    int64  // begin: its index
	Lines    int64  // begin, stop: decisions before it
	Origin   string // begin: of the log
	Software string // begin: name/version; may be empty

	Cut       int64         // run: bytes that were cut off because a kill had torn a line
	Killed    bool          // run: the one before it did not end in good order
	ClockBack time.Duration // run: by how much the clock stood behind the last time that the ledger had
	Warcinfo  string        // run: the SHA-256 of the block of its warcinfo records, in hexadecimal digits; may be empty
	Settings  string        // run: that of the settings; may be empty
	OptOuts   string        // run: that of the opt-out list; may be empty
	Key       string        // run: the verifier key of its checkpoints; empty for none

	Size  int64        // hosts: the entries that the map is of
	Hosts int64        // hosts: how many it has
	Root  hostmap.Hash // hosts: of the map

	Name    string // file: relative to the crawl directory, with slashes
	Octets  int64  // file
	SHA256  string // file, optouts
	Entries int64  // optouts: entries of the list

	Note      string              // key: that of the rotation (package checkpoint)
	Rotation  checkpoint.Rotation // key: what it says
	Redaction *Redaction          // redaction
	Operator  *Operator           // operator
	Fleet     *Fleet              // fleet
}

// Fleet is what a member of a fleet knows at a time. Slots are those of canon.Authority.Slot.
type Fleet struct {
	Crawl, Dir    string            // identify the crawl, and the crawl directory
	Taken, Given  []int             // slots
	Members       map[string]string // names of members that no mark before has, by Dir
	Asked, Server time.Time         // the server's clock, read between Asked and the time of the mark
}

// The extents of a redaction.
const (
	ExtentBodies = "bodies" // what was received
	ExtentAll    = "all"    // the lines as well
)

// Redaction says what was forgotten, and why. A line that was forgotten is replaced by a stub, Stub of its entry hash, so
// that the tree stays what it was.
type Redaction struct {
	Extent  string // ExtentBodies or ExtentAll
	Reason  string // in the operator's words; may be empty
	Subject string // SHA-256, in hexadecimal digits, of a salt, a newline, and what was asked for (storage/redact.Digest)
	Records []RedactedRecord
	Entries []int64 // indexes of the lines that are stubs
	Files   []RedactedFile
}

// RedactedRecord is a record that left the archive.
type RedactedRecord struct {
	ID     string `json:"id"`
	Blocks string `json:"blocks"` // as its line had it (storage.Line.Blocks); may be empty
}

// RedactedFile is a file that was written anew.
type RedactedFile struct {
	Name   string `json:"name"` // as in a file mark
	Octets int64  `json:"octets"`
	SHA256 string `json:"sha256"`
	Before string `json:"before_sha256"`
}

const timeForm = "2006-01-02T15:04:05.000000Z"

var (
	markStart = []byte(`{"mark":"`)
	stubStart = []byte(`{"redacted":`)
)

// IsMark reports whether a line is meant as a mark.
func IsMark(line []byte) bool { return bytes.HasPrefix(line, markStart) }

// IsDigest reports whether s is a SHA-256 in hexadecimal digits.
func IsDigest(s string) bool {
	return len(s) == 2*sha256.Size && strings.Trim(s, "0123456789abcdef") == ""
}
