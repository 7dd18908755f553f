package audit

import "time"

// HostLog is how the logs of one host and the archive agree.
type HostLog struct {
	Host       string    `json:"host"`
	Files      []string  `json:"files"`
	Lines      int64     `json:"lines"`                // read
	Unread     int64     `json:"unread,omitempty"`     // in neither format
	Others     int64     `json:"others"`               // lines of other clients
	Ours       int64     `json:"ours"`                 // lines of the crawler, within the time of the archive
	Outside    int64     `json:"outside,omitempty"`    // lines of the crawler before or after the archive
	Copies     int64     `json:"copies,omitempty"`     // lines of the crawler that stand in another of the files, too
	Exchanges  int64     `json:"exchanges"`            // archived, with this host
	Agree      int64     `json:"agree"`                // in both
	Missing    int64     `json:"missing,omitempty"`    // archived and not logged, or with another status
	Extra      int64     `json:"extra,omitempty"`      // logged and not archived
	Crash      int64     `json:"crash,omitempty"`      // logged, and lost in flight when the crawl was killed
	Uncovered  int64     `json:"uncovered,omitempty"`  // archived before the first or after the last line of the log
	Unanswered int64     `json:"unanswered,omitempty"` // archived without a whole answer and not logged
	Agentless  bool      `json:"agentless,omitempty"`  // there are lines that do not tell the user agent
	Confirmed  bool      `json:"confirmed"`            // both say the same
	First      time.Time `json:"first,omitzero"`       // line
	Last       time.Time `json:"last,omitzero"`
}

// Silent says why the log confirms nothing; "" if it has archived requests.
func (h *HostLog) Silent() string {
	switch {
	case h.Exchanges == 0:
		return "the archive has no request to this host"
	case h.Agree == 0:
		return "it has none of the archived requests to this host"
	}
	return ""
}

// Share is how much of what an archive tells somebody else confirms.
type Share struct {
	Hosts       int64 `json:"hosts"`
	OfHosts     int64 `json:"of_hosts"`
	Exchanges   int64 `json:"exchanges"`
	OfExchanges int64 `json:"of_exchanges"`
}

// LedgerCheck is how ledger and archive agree, and who vouches for the ledger.
type LedgerCheck struct {
	Dir       string `json:"dir"`
	Segments  int64  `json:"segments"`
	Lines     int64  `json:"lines"`               // decisions
	Refusals  int64  `json:"refusals"`            // of those, the ones without an exchange
	Unsent    int64  `json:"unsent,omitempty"`    // attempts that reached no server and so left no record
	Forgotten int64  `json:"forgotten,omitempty"` // lines that were taken away, of which a hash is left
	Redacted  int64  `json:"redacted,omitempty"`  // exchanges without the bodies that a mark says were taken; they agree
	Records   int64  `json:"records"`             // exchanges of the archive
	Agree     int64  `json:"agree"`               // exchanges and refusals that both have, and tell alike
	InFlight  int64  `json:"in_flight"`           // in one of them alone, because the crawl was killed
	Untold    int64  `json:"untold,omitempty"`    // exchanges and refusals of the archive that no line tells of
	Runs      int64  `json:"runs"`                // as the marks tell
	Crashes   int64  `json:"crashes"`             // runs that did not end in good order

	Files      int64 `json:"files"`       // finished files of archive and index that the ledger has marks of
	FilesAgree int64 `json:"files_agree"` // of those, the ones that are as their marks say

	Origin  string `json:"origin,omitempty"` // of the log
	Entries int64  `json:"entries"`          // lines, marks among them
	Covered int64  `json:"covered"`          // of those, the ones that the latest checkpoint stands for
	Head    string `json:"head,omitempty"`   // that checkpoint: its size, a colon, and its root

	Signer      string    `json:"signer,omitempty"`          // verifier key of that checkpoint
	SignerKnown bool      `json:"signer_known,omitempty"`    // it is the auditor's, or one that rotations lead to from there
	Keys        []string  `json:"keys,omitempty"`            // verifier keys of the runs, at most 16
	Lodged      []Lodging `json:"submitted,omitempty"`       // who else vouches for it
	Since       int64     `json:"since_submitted,omitempty"` // decisions behind the last head that somebody else vouches for
}

// The ways in which somebody else vouches for a ledger.
const (
	ByHead    = "head"    // a head that was lodged elsewhere
	ByWitness = "witness" // a cosignature
)

// Lodging is that somebody else vouches for the first entries of a ledger.
type Lodging struct {
	How  string    `json:"how"` // a word above
	By   string    `json:"by"`  // the witness's name, or the head itself
	Size int64     `json:"size"`
	At   time.Time `json:"at,omitzero"` // of a head it is not known
}

// PackageCheck is what a WACZ file is, held against its own manifest and signatures.
type PackageCheck struct {
	File     string   `json:"file"`
	Version  string   `json:"version,omitempty"` // of the format, as the file says
	Software string   `json:"software,omitempty"`
	Created  string   `json:"created,omitempty"`
	Files    int64    `json:"files"`               // in it, but for the manifest and its digest
	Agree    int64    `json:"agree"`               // of these, as large as the manifest says and with its hash
	Octets   int64    `json:"octets"`              // unpacked
	Signed   []string `json:"signed_by,omitempty"` // whose signatures hold: a key's fingerprint, a domain, the ledger's key
	LeftOut  int64    `json:"left_out,omitempty"`  // records that the packer says it left out, for their pages ask not to be archived
	Wrong    int64    `json:"wrong,omitempty"`     // what is not as it should be
	OK       bool     `json:"ok"`                  // nothing is
}
