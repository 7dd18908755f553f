package optout

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

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

func (w *Watch) remember(l *List) {
	if l == nil || len(w.versions) == maxVersions {
		return
	}
	w.versions = append(w.versions, Version{
		File: filepath.Base(l.name), SHA256: hex.EncodeToString(l.digest[:]), Entries: len(l.entries),
		Since: time.Now().UTC(),
	})
}

// maxFile is the largest list that is read, in bytes: a million entries and more.
const maxFile = 64 << 20

// coarse is how long a change may go unseen by the clock of a file system (FAT counts in two seconds).
const coarse = 2 * time.Second

// watched is a file and the version of it that is in force.
type watched struct {
	File
	list *List // nil: none yet

	info    fs.FileInfo // of the file as it was last read; nil when it was not there
	recent  bool        // it had changed so short before that another change may not show
	trouble string      // what was said of it; empty while all is well
}

// begin reads the file for the first time: any trouble is an error.
func (s *watched) begin() error {
	info, b, err := read(s.Path)
	switch {
	case missing(err) && s.MayMiss:
		return nil
	case err != nil:
		return fmt.Errorf("optout: %w", err)
	}
	s.note(info)
	s.list, err = Parse(s.Path, b)
	return err
}

// look takes over a new version. It returns what is new to the operator.
func (s *watched) look() string {
	info, err := os.Stat(s.Path)
	if err == nil && s.info != nil && !s.recent && same(info, s.info) {
		return ""
	}
	var b []byte
	if err == nil {
		info, b, err = read(s.Path)
	}
	switch {
	case missing(err) && s.list == nil && s.MayMiss:
		s.info, s.trouble = nil, ""
		return ""
	case missing(err):
		s.info = nil
		return s.troubled("has vanished")
	case err != nil:
		s.info = nil
		return s.troubled(err.Error())
	}
	s.note(info)
	if s.list != nil && s.list.digest == sha256.Sum256(b) {
		if s.trouble == "" {
			return ""
		}
		s.trouble = ""
		return fmt.Sprintf("%s is as it was again: %s", s.Path, s.force())
	}
	l, err := Parse(s.Path, b)
	if err != nil {
		return s.troubled(err.Error())
	}
	s.list, s.trouble = l, ""
	return fmt.Sprintf("%s has changed: %s", s.Path, s.force())
}

func (s *watched) note(info fs.FileInfo) {
	s.info, s.recent = info, time.Since(info.ModTime()) < coarse
}

func (s *watched) troubled(why string) string {
	if s.trouble == why {
		return ""
	}
	s.trouble = why
	return s.told()
}

func (s *watched) told() string {
	return fmt.Sprintf("opt-out list %s: %s; %s", s.Path, s.trouble, s.force())
}

func (s *watched) force() string {
	if s.list == nil {
		return "nothing of it is in force"
	}
	number := fmt.Sprintf("%d entries are", len(s.list.entries))
	if len(s.list.entries) == 1 {
		number = "1 entry is"
	}
	return fmt.Sprintf("%s in force, of the version with SHA-256 %x…", number, s.list.digest[:6])
}

// same reports whether a file has not changed, as far as its directory entry shows.
func same(a, b fs.FileInfo) bool {
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && os.SameFile(a, b)
}

// read returns a file with what its directory entry says. Anything but a regular file is not opened: a pipe would
// block.
func read(path string) (fs.FileInfo, []byte, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, nil, err
	case len(b) > maxFile:
		return nil, nil, fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	return info, b, nil
}

func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// Append adds entries with a reason, which may be empty, to the list at path, and makes it if it is not there. It
// returns how many were added: an entry that stands there already is left out. A list that has a mistake, and one that
// would have, is not touched. All is written at once, so that a crawl that reads meanwhile sees all of it or nothing.
func Append(path string, texts []string, reason string) (added int, err error) {
	_, b, err := read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("optout: %w", err)
	}
	old, err := Parse(path, b)
	if err != nil {
		return 0, err
	}
	if strings.ContainsFunc(reason, unicode.IsControl) {
		return 0, errors.New("optout: a reason is one line")
	}
	known := map[string]bool{}
	for _, e := range old.entries {
		known[e.Text] = true
	}
	var more strings.Builder
	if len(b) > 0 && b[len(b)-1] != '\n' {
		more.WriteByte('\n')
	}
	for _, text := range texts {
		if err := new(List).Add(text); err != nil {
			return 0, err
		}
		if known[text] {
			continue
		}
		known[text] = true
		added++
		more.WriteString(text)
		if reason != "" {
			more.WriteString("\t" + reason)
		}
		more.WriteByte('\n')
	}
	if added == 0 {
		return 0, nil
	}
	return added, write(path, more.String())
}

// write appends text to a file, durably. Half of it is taken back: half an entry means somebody else.
func write(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("optout: %w", err)
	}
	n, err := f.WriteString(text)
	if err != nil && n > 0 {
		// where the write ended; nobody else adds to a list between the two on a full disk
		end, serr := f.Seek(0, io.SeekCurrent)
		if serr == nil {
			serr = f.Truncate(end - int64(n))
		}
		err = errors.Join(err, serr)
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("optout: %w", err)
	}
	return nil
}
