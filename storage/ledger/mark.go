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

// Mark is a line that is no decision. Its kind says which fields it has: those that name it, or Redaction, Operator or Fleet.
type Mark struct {
	Kind string    `json:"-"`
	Time time.Time `json:"-"` // all but begin

	Schema   int    `json:"schema" of:"begin"`
	Segment  int    `json:"segment" of:"begin"`
	First    int64  `json:"first" of:"begin"`             // its index
	Lines    int64  `json:"lines" of:"begin stop"`        // decisions before it
	Origin   string `json:"origin" of:"begin"`            // of the log
	Software string `json:"software,omitzero" of:"begin"` // name/version

	Cut       int64         `json:"cut" of:"run"`                      // bytes that were cut off because a kill had torn a line
	Killed    bool          `json:"killed,omitzero" of:"run"`          // the one before it did not end in good order
	ClockBack time.Duration `json:"clock_back_us,omitzero" of:"run"`   // by how much the clock stood behind the last time that the ledger had
	Warcinfo  string        `json:"warcinfo_sha256,omitzero" of:"run"` // of the block of its warcinfo records
	Settings  string        `json:"settings_sha256,omitzero" of:"run"`
	OptOuts   string        `json:"optouts_sha256,omitzero" of:"run"` // of the opt-out list
	Key       string        `json:"key,omitzero" of:"run"`            // the verifier key of its checkpoints; empty for none

	Size  int64        `json:"size" of:"hosts"`  // the entries that the map is of
	Hosts int64        `json:"hosts" of:"hosts"` // how many it has
	Root  hostmap.Hash `json:"root" of:"hosts"`

	Name    string `json:"name" of:"file"` // relative to the crawl directory, with slashes
	Octets  int64  `json:"octets" of:"file"`
	SHA256  string `json:"sha256" of:"file optouts"`
	Entries int64  `json:"entries" of:"optouts"` // of the list

	Note     string              `json:"note" of:"key"` // that of the rotation (package checkpoint)
	Rotation checkpoint.Rotation `json:"-"`             // key: what it says

	Redaction *Redaction `json:"-"`
	Operator  *Operator  `json:"-"`
	Fleet     *Fleet     `json:"-"`
}

// Fleet is what a member of a fleet knows at a time. Slots are those of canon.Authority.Slot.
type Fleet struct {
	Crawl   string            `json:"crawl"` // identifies it
	Dir     string            `json:"dir"`   // identifies the crawl directory
	Taken   []int             `json:"taken"` // slots
	Given   []int             `json:"given"`
	Members map[string]string `json:"members"` // names of members that no mark before has, by Dir
	Asked   time.Time         `json:"asked"`
	Server  time.Time         `json:"server"` // its clock, read between Asked and the time of the mark
}

// The extents of a redaction.
const (
	ExtentBodies = "bodies" // what was received
	ExtentAll    = "all"    // the lines as well
)

// Redaction says what was forgotten, and why. A line that was forgotten is replaced by a stub, Stub of its entry hash, so
// that the tree stays what it was.
type Redaction struct {
	Extent  string           `json:"extent"`         // ExtentBodies or ExtentAll
	Reason  string           `json:"reason"`         // in the operator's words; may be empty
	Subject string           `json:"subject_sha256"` // of a salt, a newline, and what was asked for (storage/redact.Digest)
	Records []RedactedRecord `json:"records"`
	Entries []int64          `json:"entries"` // indexes of the lines that are stubs
	Files   []RedactedFile   `json:"files"`
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
