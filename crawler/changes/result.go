package changes

import "time"

// What became of a URL.
const (
	New       = "new"       // the one generation had nothing there
	Changed   = "changed"   // another payload, or a redirect to another place; Kind says which
	Unchanged = "unchanged" // the same payload, or not asked for because it holds still
	Gone      = "gone"      // 404 or 410, where something was
	Unknown   = "unknown"   // it was there, and no answer says whether it still is
	Unlinked  = "unlinked"  // it was there, and nothing led to it when all was done
	OptedOut  = "opted-out" // it was there, and an opt-out list names it or its address now
	Unasked   = "unasked"   // it was there, and was not asked for; whether nothing leads to it is not known
)

// Words are all that may become of a URL, in the order in which they are told.
func Words() []string {
	return []string{New, Changed, Gone, Unknown, OptedOut, Unlinked, Unasked, Unchanged}
}

// How a URL changed.
const (
	Text     = "text"     // the main text differs; the whole text where a page has no main one, or one that lacks much
	Around   = "around"   // the main text is the same, what stands around it differs
	Markup   = "markup"   // the text is the same
	Coding   = "coding"   // the bytes are the same, and were sent with another content coding
	File     = "file"     // it is no text, and its bytes differ
	Redirect = "redirect" // it redirects, or did, or elsewhere
	Unread   = "unread"   // its texts cannot be compared; Missing says why
)

// Kinds are all the ways to change, in the order in which they are told.
func Kinds() []string { return []string{Text, Redirect, File, Unread, Around, Markup, Coding} }

// Why texts cannot be compared.
const (
	NoRecord   = "not in the archive"        // forgotten, lost, or never archived
	NoOriginal = "another archive has it"    // the original of a revisit
	Redacted   = "the body was redacted"     // of it, or of what a revisit refers to
	Cut        = "the body was cut"          // by a limit of the crawl, or the connection
	NoBody     = "the body cannot be read"   // it is damaged
	NoText     = "no text"                   // pages that are pictures alone
	TooMany    = "too many to read them all" // of new and gone pages, whose texts are read up to MaxExcerpts
	Differs    = "only one is a page"        // as when a file takes the place of a page
)

// Reasons are all of them, in the order in which they are told.
func Reasons() []string {
	return []string{NoRecord, NoOriginal, Redacted, Cut, NoBody, NoText, TooMany, Differs}
}

// Bounds.
const (
	MaxListed   = 20_000  // URLs that changed, by name; all are counted
	MaxExcerpts = 1_000   // new and gone pages of which the text is read
	MaxDiffs    = 8 << 20 // bytes of all diffs
	MaxLines    = 200     // lines of a diff
	MaxExcerpt  = 20      // lines of a new page, or one that is gone
	MaxLine     = 600     // bytes of a line that is shown
)

// Version is that of the JSON form.
const Version = 1

// A Result is how two generations of a crawl differ.
type Result struct {
	Version  int        `json:"version"`
	Dir      string     `json:"dir"`
	From     Generation `json:"from"`
	To       Generation `json:"to"`
	Latest   int64      `json:"latest"`   // generation
	Running  bool       `json:"running"`  // the crawl was, so that To may not be whole
	Complete bool       `json:"complete"` // nothing of To was left to do, as far as that is known
	Round    bool       `json:"round,omitempty"`

	Counts  map[string]Count `json:"counts"`  // by what became of URLs
	Kinds   map[string]int64 `json:"kinds"`   // of those that changed
	Missing map[string]int64 `json:"missing"` // why texts are missing
	Moved   int64            `json:"moved"`

	Changes  []Change `json:"changes"`   // by URL, without those that are unchanged
	LeftOut  int64    `json:"left_out"`  // changes beyond MaxListed
	NoDiffs  int64    `json:"no_diffs"`  // diffs beyond MaxDiffs
	BadLines int64    `json:"bad_lines"` // of the ledger, of what is no URL of ours
}

// A Generation is one of the crawl, as its ledger has it.
type Generation struct {
	Number int64     `json:"generation"`
	Began  time.Time `json:"began"`
	Ended  time.Time `json:"ended"` // its last decision
}

// Count is of pages and of all else: pictures, style sheets, redirects.
type Count struct {
	Pages int64 `json:"pages"`
	Other int64 `json:"other"`
}

// All is how many there are.
func (c Count) All() int64 { return c.Pages + c.Other }

// A Change is what became of one URL.
type Change struct {
	URL    string  `json:"url"`
	Change string  `json:"change"`
	Kind   string  `json:"kind,omitempty"`   // of Changed
	Why    string  `json:"why,omitempty"`    // of Unknown, what the ledger says
	Page   bool    `json:"page"`             // it is a page or a text
	Title  string  `json:"title,omitempty"`  // first line of its text
	Before *Answer `json:"before,omitempty"` // nil for what is new
	After  *Answer `json:"after,omitempty"`  // nil where there is none

	MovedTo   string `json:"moved_to,omitempty"`   // where the same payload is now, and was not before
	MovedFrom string `json:"moved_from,omitempty"` // the same, told of what is new

	Missing string `json:"missing,omitempty"` // why there is no text to compare
	Diff    *Diff  `json:"diff,omitempty"`    // without lines where SameAs has them
	SameAs  string `json:"same_as,omitempty"` // the first page whose text changed by the same lines, as by a new footer
}

// An Answer is an archived one.
type Answer struct {
	Time     time.Time `json:"time"`
	Status   int       `json:"status"`
	Type     string    `json:"type,omitempty"`
	Record   string    `json:"record,omitempty"`
	Location string    `json:"location,omitempty"` // of a redirect, as it was written
}

// A Diff is how two texts differ. Of a new page the first text is empty, of one that is gone the second.
type Diff struct {
	Of      string `json:"of"`      // "main" or "whole": which text
	Added   int    `json:"added"`   // lines
	Removed int    `json:"removed"` // lines
	Lines   []Line `json:"lines"`   // in their order, up to MaxLines; begins of parts are lines "@"
	LeftOut int    `json:"left_out,omitempty"`
}

// A Line is one of a diff. In JSON it is its mark followed by its text.
type Line struct {
	Mark  byte // '@' for where a part begins, ' ', '-' or '+'
	Spans []Span
}

// A Span is a part of a line. Of a line that takes the place of another, Changed says that the other has it not.
type Span struct {
	Text    string
	Changed bool
}

// String is the text of a line.
func (l Line) String() string {
	text := ""
	for _, s := range l.Spans {
		text += s.Text
	}
	return text
}

// MarshalText has JSON write a line as a string.
func (l Line) MarshalText() ([]byte, error) { return append([]byte{l.Mark}, l.String()...), nil }

// Says reports whether a site says something else: a page is new, gone or not known, or has another text, or something
// redirects elsewhere.
func (r *Result) Says() bool {
	for _, word := range []string{New, Gone, Unknown, OptedOut, Unlinked} {
		if r.Counts[word].All() > 0 {
			return true
		}
	}
	return r.LeftOut > 0 || r.Kinds[Text]+r.Kinds[Redirect]+r.Kinds[File]+r.Kinds[Unread] > 0
}
