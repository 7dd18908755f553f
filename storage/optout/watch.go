package optout

import (
	"encoding/hex"
	"net/netip"
	"path/filepath"
	"sync"
	"time"

	"curtsy/frontier/canon"
)

// Look is the longest time for which a changed file may go unnoticed by those who ask.
const Look = time.Second

// File is a list on disk.
type File struct {
	Path    string
	MayMiss bool // it need not exist: without it nothing is listed
}

// Hit is the entry that something is under. It is an error, so that who dials can say why not.
type Hit struct {
	Entry
	File   string   // where it stands
	Digest [32]byte // of that version of the file
}

// Error names the entry.
func (h *Hit) Error() string {
	s := "opted out: " + h.Text
	if h.Reason != "" {
		s += " (" + h.Reason + ")"
	}
	return s
}

// SHA256 is the digest of the list in base16.
func (h *Hit) SHA256() string { return hex.EncodeToString(h.Digest[:]) }

// Version says which list was in force, and since when.
type Version struct {
	File    string    `json:"file"` // its name, without the folder
	SHA256  string    `json:"sha256"`
	Entries int       `json:"entries"`
	Since   time.Time `json:"since"`
}

// maxVersions bounds what a Watch remembers of versions.
const maxVersions = 256

// Watch is the lists in force. Its methods may be called concurrently; those of a nil Watch find nothing.
type Watch struct {
	say func(format string, args ...any)

	mu       sync.Mutex
	files    []*watched
	looked   time.Time
	versions []Version
	tell     func(lists []*List) // nil: nobody
}

// Open reads files and keeps looking at them. It fails when one of them is missing that must be there, or has a
// mistake. say receives plain sentences for the operator, later on; nil means none. It must not call the Watch.
func Open(files []File, say func(format string, args ...any)) (*Watch, error) {
	if say == nil {
		say = func(string, ...any) {}
	}
	w := &Watch{say: say, looked: time.Now()}
	for _, f := range files {
		s := &watched{File: f}
		if err := s.begin(); err != nil {
			return nil, err
		}
		w.files = append(w.files, s)
		w.remember(s.list)
	}
	return w, nil
}

// URL returns the entry that u is under now, or nil.
func (w *Watch) URL(u canon.URL) *Hit {
	return w.find(func(l *List) (Entry, bool) { return l.URL(u) })
}

// Addr returns the entry that an address is under now, or nil.
func (w *Watch) Addr(a netip.Addr) *Hit {
	return w.find(func(l *List) (Entry, bool) { return l.Addr(a) })
}

// Versions returns the versions that were in force, in the order in which they came; the first 256 of them.
func (w *Watch) Versions() []Version {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.look()
	return append([]Version(nil), w.versions...)
}

// Troubles says of which files a version is in force that is not the one on disk, and why.
func (w *Watch) Troubles() []string {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.look()
	var all []string
	for _, f := range w.files {
		if f.trouble != "" {
			all = append(all, f.told())
		}
	}
	return all
}

// Lists returns the lists in force.
func (w *Watch) Lists() []*List {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.look()
	return w.lists()
}

// lists are the lists in force; called with mu held.
func (w *Watch) lists() []*List {
	var all []*List
	for _, f := range w.files {
		if f.list != nil {
			all = append(all, f.list)
		}
	}
	return all
}

func (w *Watch) find(in func(*List) (Entry, bool)) *Hit {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.look()
	for _, f := range w.files {
		if f.list == nil {
			continue
		}
		if e, ok := in(f.list); ok {
			return &Hit{Entry: e, File: f.Path, Digest: f.list.digest}
		}
	}
	return nil
}

// look looks at the files, unless that was less than a second ago; called with mu held.
func (w *Watch) look() {
	now := time.Now()
	if now.Sub(w.looked) < Look {
		return
	}
	w.looked = now
	changed := false
	for _, f := range w.files {
		before := f.list
		if said := f.look(); said != "" {
			w.say("%s", said)
		}
		if f.list != before {
			w.remember(f.list)
			changed = true
		}
	}
	if changed && w.tell != nil {
		w.tell(w.lists())
	}
}

// Reload looks at the files now, and returns the lists in force.
func (w *Watch) Reload() []*List {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looked = time.Now().Add(-Look)
	w.look()
	return w.lists()
}

// Tell has f told of the lists in force whenever one of them has changed. f must not call the Watch, and whoever asks it
// waits for f. It is for one caller, before others use the Watch.
func (w *Watch) Tell(f func(lists []*List)) {
	if w != nil {
		w.tell = f
	}
}

// remember notes that a version is in force.
func (w *Watch) remember(l *List) {
	if l == nil || len(w.versions) == maxVersions {
		return
	}
	w.versions = append(w.versions, Version{
		File: filepath.Base(l.name), SHA256: hex.EncodeToString(l.digest[:]), Entries: len(l.entries),
		Since: time.Now().UTC(),
	})
}
