package proof

import (
	"fmt"
	"time"

	"curtsy/storage/audit"
	"curtsy/storage/ledger/checkpoint"
)

// Version is the version of the Result's JSON form. Fields may be added without a new one.
const Version = 1

// Level says how far a proof reaches.
type Level string

// The levels. A higher one stands on the lower ones.
const (
	NoLevel        Level = "none"                    // the proof does not hold
	SelfConsistent Level = "self-consistent"         // the parts agree; whoever made the bundle could have made all of them
	Signed         Level = "signed"                  // by a key that the reader knows
	Cosigned       Level = "cosigned"                // by a witness that the reader knows, at a time: not written anew since
	Confirmed      Level = "confirmed by access log" // the site's own log has the same requests
)

// Code names what does not hold.
type Code string

// The codes.
const (
	BadMember      Code = "member"      // a part is missing, changed or damaged
	BadCheckpoint  Code = "checkpoint"  // it cannot be read
	BadSignature   Code = "signature"   // the known key has not signed the checkpoint
	BadCosignature Code = "cosignature" // a known witness has not cosigned it
	BadOrigin      Code = "origin"      // checkpoint and log are not of one crawl
	BadMark        Code = "mark"        // a mark is none, or not where it must be
	BadInclusion   Code = "inclusion"   // the lines are not in the log
	BadMap         Code = "map"         // the completeness map does not say what the bundle says
	Omitted        Code = "omitted"     // the lines are not all that the map has
	OtherHost      Code = "other-host"  // a line is of another host
	BadLine        Code = "line"        // a line cannot be read
	Unredacted     Code = "redaction"   // a line was taken out, and no mark says so
	BadHeads       Code = "heads"       // the heads of an exchange are not those of its line
	BadRobots      Code = "robots-txt"  // a robots.txt is not the one that its name says
	BadVerdict     Code = "verdict"     // robots.txt does not say what the line says
	BadPage        Code = "page"        // the page does not say what the lines say
	LogExtra       Code = "log-extra"   // the site's log has a request that no line has
	LogMissing     Code = "log-missing" // a line has a request that the site's log has not
)

// Finding is something that does not hold.
type Finding struct {
	Code  Code   `json:"code"`
	Entry *int64 `json:"entry,omitempty"` // the index of the line it is about
	Text  string `json:"text"`
}

// maxFindings is how many findings of one code are kept; all are counted.
const maxFindings = 20

// Result is what the check of a bundle found.
type Result struct {
	Version int   `json:"version"`
	Holds   bool  `json:"holds"`
	Level   Level `json:"level"`

	Host     string    `json:"host"`
	Software string    `json:"software,omitempty"` // that says it made the bundle
	Origin   string    `json:"origin,omitempty"`
	Size     int64     `json:"size"` // entries of the log
	Root     string    `json:"root,omitempty"`
	AsOf     time.Time `json:"as_of,omitzero"` // of the completeness map, by the crawler's clock
	Covered  int64     `json:"covered"`        // entries of the log that the map is of
	Hosts    int64     `json:"hosts"`          // in the map
	Absent   bool      `json:"absent"`         // the log has no line of the host

	PageChecked bool `json:"page_checked"` // no other version of the program made the page

	Signers   []Signer    `json:"signers,omitempty"` // those of the checkpoint, and those whose keys were given
	Killed    int64       `json:"runs_killed"`       // runs that did not end in good order, as marks say
	Redaction []Redaction `json:"redactions,omitempty"`

	Summary *Summary       `json:"lines"`
	Heads   Heads          `json:"heads"`
	Robots  RobotsCheck    `json:"robots"`
	Log     *audit.HostLog `json:"access_log,omitempty"`

	Counts     map[Code]int64 `json:"counts,omitempty"`
	Findings   []Finding      `json:"findings,omitempty"`
	CannotShow []string       `json:"cannot_show"`
}

// Signer is a name under the checkpoint, or one whose key was given.
type Signer struct {
	Name    string    `json:"name"`
	Known   bool      `json:"known"`               // its key was given, and the signature is right
	Witness bool      `json:"witness"`             // it cosigned, or should have
	Time    time.Time `json:"time,omitzero"`       // of a cosignature
	By      string    `json:"key_given,omitempty"` // the key that was given, where a rotation leads from it to this one
}

// Redaction is what was taken out, and why.
type Redaction struct {
	Time   time.Time `json:"time"`
	Reason string    `json:"reason"`
	Lines  int64     `json:"lines"`
}

// Heads are counts of exchanges by what their heads can prove.
type Heads struct {
	Right      int64 `json:"right"`      // there, and as their lines bind them
	NotThere   int64 `json:"not_there"`  // bound by their lines, and not in the bundle
	Unprovable int64 `json:"unprovable"` // their lines bind none
}

// RobotsCheck says how many verdicts were recomputed.
type RobotsCheck struct {
	Right      int64 `json:"right"`
	Unprovable int64 `json:"unprovable"` // the text, or the crawler's name, is not in the bundle
}

// found notes a finding.
func (r *Result) found(c Code, format string, args ...any) { r.at(c, -1, format, args...) }

// at notes a finding about a line.
func (r *Result) at(c Code, index int64, format string, args ...any) {
	if r.Counts == nil {
		r.Counts = map[Code]int64{}
	}
	if r.Counts[c]++; r.Counts[c] > maxFindings {
		return
	}
	f := Finding{Code: c, Text: fmt.Sprintf(format, args...)}
	if index >= 0 {
		f.Entry = &index
	}
	r.Findings = append(r.Findings, f)
}

// signer returns the place of a name among the signers.
func (r *Result) signer(k checkpoint.Key) *Signer {
	for i := range r.Signers {
		if r.Signers[i].Name == k.Name() {
			return &r.Signers[i]
		}
	}
	r.Signers = append(r.Signers, Signer{Name: k.Name()})
	return &r.Signers[len(r.Signers)-1]
}
