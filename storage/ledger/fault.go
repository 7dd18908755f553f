package ledger

import "fmt"

// Fault is what can be wrong with a ledger. Faults are stable.
type Fault string

// The faults.
const (
	Changed     Fault = "entry changed"         // a line is not the one that was committed to
	RootDiffers Fault = "checkpoint differs"    // a checkpoint is of other lines
	Rollback    Fault = "rollback"              // a checkpoint is of more lines than there are
	WrongOrigin Fault = "wrong origin"          // a checkpoint or a segment is of another log
	BadNote     Fault = "checkpoint unreadable" // a file of a checkpoint is none
	BadSig      Fault = "signature wrong"       // a checkpoint is not signed by the key of its run
	KeyChanged  Fault = "key changed"           // a run has another key than the one before, without a rotation
	MapDiffers  Fault = "map differs"           // a completeness map is not that of the lines
	BadTiles    Fault = "tiles differ"          // the tiles are not those of the latest checkpoint, or a file beside them is none of the lines' tree
	Uncommitted Fault = "not committed"         // no checkpoint has the lines at the end
	NoStop      Fault = "no stop"               // a run did not end in good order: a crash, or lines were cut off
	Unnamed     Fault = "redaction not told"    // a line was taken away, and no mark says so
	Disagree    Fault = "marks disagree"        // a mark says of the lines what is not so
	Unreadable  Fault = "unreadable"            // a line is no decision and no mark, or a file does not decompress
	Torn        Fault = "unfinished line"       // the last line of a segment has no end
	Copies      Fault = "copies differ"         // a segment is there plain and packed, and the two are not the same
	NoLines     Fault = "segment without lines" // a segment is empty: a kill leaves it as the last one
	Missing     Fault = "segment missing"       // the numbers of the segments have a gap
	Empty       Fault = "empty"                 // there is no segment
	NewSchema   Fault = "schema not known"      // written by a later version
)

// Problem is a fault and its place.
type Problem struct {
	Fault   Fault
	Segment int
	Row     int    // line of the segment, from 1; 0 for all of it
	Index   int64  // of the entry, or of the one behind the place; -1 where it is not known
	Text    string // what it is, in words; it may quote the ledger
}

// String is the problem with its place.
func (p Problem) String() string {
	switch {
	case p.Row == 0:
		return fmt.Sprintf("%s: segment %d: %s", p.Fault, p.Segment, p.Text)
	case p.Index < 0:
		return fmt.Sprintf("%s: segment %d line %d: %s", p.Fault, p.Segment, p.Row, p.Text)
	}
	return fmt.Sprintf("%s: segment %d line %d (entry %d): %s", p.Fault, p.Segment, p.Row, p.Index, p.Text)
}
