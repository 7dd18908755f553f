package mirror

import (
	"sync/atomic"
	"time"

	"curtsy/frontier/canon"
	"curtsy/storage/mirror/layout"
	"curtsy/storage/script"
)

// Vanished says what becomes of pages that are gone: status 404 or 410.
type Vanished uint8

// Fates of pages that vanished.
const (
	Keep   Vanished = iota // the last good answer of the archive stays in the mirror
	Remove                 // they leave it
)

// Options say what a mirror is made of, and where it is.
type Options struct {
	Archive Archive
	Dir     string // the mirror is its directory "mirror"

	Layout layout.Layout // in which folders its files are

	Vanished Vanished
	// GoneBefore, unless zero, has Remove act only on what was found gone before: what an update that is not completed has
	// found so stays.
	GoneBefore time.Time

	// MaxBody is the most bytes of a decoded body. Zero means 1 GiB.
	MaxBody int64

	// Previews says that pictures which pages only name for others to show (og:image) belong to them: where they are not
	// in the mirror they are missing. They are linked in any case.
	Previews bool

	// Unfetched, if not nil, returns why the crawl did not request a URL of which neither archive nor ledger says so, as a rule of
	// the ledger's or in words. embed reports that pages need it to be complete.
	Unfetched func(u canon.URL, embed bool) (string, error)

	// Fresh writes every file anew. Otherwise those that did not change are shared with the mirror before.
	Fresh bool

	// Progress, if not nil, tells how far it is.
	Progress *Progress

	// step is called before each change of the file system, with what it is; its error stands for the change's.
	step func(what string) error
	// twoRenames goes without an exchange of names, as some systems have to.
	twoRenames bool
	// hasty leaves it to the system when files become durable.
	hasty bool
}

// removes reports whether a page that was found gone at a time leaves the mirror.
func (o *Options) removes(at time.Time) bool {
	return o.Vanished == Remove && (o.GoneBefore.IsZero() || at.Before(o.GoneBefore))
}

func (o *Options) maxBody() int64 {
	if o.MaxBody == 0 {
		return 1 << 30
	}
	return o.MaxBody
}

// Summary counts what a mirror holds.
type Summary struct {
	URLs      int64 `json:"urls"`      // archived, and considered
	Files     int64 `json:"files"`     // in the mirror, its own apart
	Pages     int64 `json:"pages"`     // URLs that have a file, redirects apart; several may share one
	Redirects int64 `json:"redirects"` // URLs that lead to a file
	Octets    int64 `json:"octets"`    // of the files

	Written   int64 `json:"written"`   // files written
	Shared    int64 `json:"shared"`    // files that did not change: linked from the mirror before
	Rewritten int64 `json:"rewritten"` // documents whose references were replaced
	Unread    int64 `json:"unread"`    // documents copied as they are, since they are too large or cannot be read

	Kept  int64 `json:"kept"`  // pages that are gone, of which an older answer is shown
	Stale int64 `json:"stale"` // pages whose last answer could not be used, of which an older one is shown

	Salvaged int64 `json:"kept_damaged"` // URLs whose record is damaged, of which the file of the mirror before is kept

	// Left counts archived URLs that are not in the mirror, by reason; Missing those that pages of the mirror name and
	// that are not in it; MissingEmbeds those of them that a page needs to be complete.
	Left          map[Reason]int64 `json:"left"`
	Missing       map[Reason]int64 `json:"missing"`
	MissingEmbeds map[Reason]int64 `json:"missing_embeds"`

	// Scripted counts URLs that scripts and JSON alone name and that are not in the mirror, by reason. Gone is what none
	// of them need be: what looks like a file is not always one.
	Scripted map[Reason]int64 `json:"scripted"`
	// ScriptsCut counts texts of scripts and JSON that were not read to their end, by why.
	ScriptsCut map[script.Cut]int64 `json:"scripts_cut,omitempty"`

	// Nowhere counts references that lead to nothing now: requisites among files of the reader, and what was relative to a
	// base that is not on the web.
	Nowhere int64 `json:"nowhere"`
	// Removed counts what was taken from documents because it would block local files or send requests, by element and attribute.
	Removed map[string]int64 `json:"removed"`

	New       int64 `json:"new"`       // URLs that the mirror before did not have
	Differ    int64 `json:"changed"`   // URLs with another payload
	Lost      int64 `json:"gone"`      // URLs that only the mirror before had
	Unchanged int64 `json:"unchanged"` // URLs with the same payload

	Others     int64    `json:"others"`     // files that somebody else put into the mirror before, and that stay
	OffWeb     int64    `json:"off_web"`    // captures of what is not on the web
	Unreadable int64    `json:"unreadable"` // captures that could not be read
	Notes      []string `json:"notes,omitempty"`
}

// Progress is how far a Build is. It may be read while it works.
type Progress struct {
	Read    atomic.Int64 // URLs found in the archive
	Total   atomic.Int64 // URLs that the tree is made of; zero until all are known
	Written atomic.Int64 // of these
}
