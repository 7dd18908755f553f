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

// Look is the longest time before a Watch in use notices a changed file.
const Look = time.Second

// File is a list on disk.
type File struct {
	Path    string
	MayMiss bool // it need not exist: a missing file lists nothing
}

// Hit is an entry that covers something. It is an error for the dialer.
type Hit struct {
	Entry
	File   string   // of the list
	Digest [32]byte // of that version of the file
}

func (h *Hit) Error() string {
	s := "opted out: " + h.Text
	if h.Reason != "" {
		s += " (" + h.Reason + ")"
	}
	return s
}

// SHA256 returns the list's digest in base16.
func (h *Hit) SHA256() string { return hex.EncodeToString(h.Digest[:]) }

// Version is a list that was in force, and its start.
type Version struct {
	File    string    `json:"file"` // without directory
	SHA256  string    `json:"sha256"`
	Entries int       `json:"entries"`
	Since   time.Time `json:"since"`
}

const maxVersions = 256

// Watch holds the lists in force. Its methods may be called concurrently; those of a nil Watch find nothing.
type Watch struct {
	report func(format string, args ...any)

	mu       sync.Mutex
	files    []*watched
	looked   time.Time
	versions []Version
	changed  func(lists []*List) // or nil
}

// Open reads files and watches them. It fails if a required one is missing, or one has a mistake. Later it calls report,
// unless nil, with sentences for the operator. report must not call the Watch.
func Open(files []File, report func(format string, args ...any)) (*Watch, error) {
	if report == nil {
		report = func(string, ...any) {}
	}
	w := &Watch{report: report, looked: time.Now()}
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

// URL returns the entry that covers u now, or nil.
func (w *Watch) URL(u canon.URL) *Hit {
	return w.find(func(l *List) (Entry, bool) { return l.URL(u) })
}

// Addr returns the entry that covers an address now, or nil.
func (w *Watch) Addr(a netip.Addr) *Hit {
	return w.find(func(l *List) (Entry, bool) { return l.Addr(a) })
}

// Versions returns the first 256 versions that were in force, in order.
func (w *Watch) Versions() []Version {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.look()
	return append([]Version(nil), w.versions...)
}

// Troubles explains for which files the version in force is not the one on disk.
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
			all = append(all, f.message())
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

// lists returns the lists in force. The caller holds mu.
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

// look checks the files, at most once a second. The caller holds mu.
func (w *Watch) look() {
	now := time.Now()
	if now.Sub(w.looked) < Look {
		return
	}
	w.looked = now
	changed := false
	for _, f := range w.files {
		before := f.list
		if message := f.look(); message != "" {
			w.report("%s", message)
		}
		if f.list != before {
			w.remember(f.list)
			changed = true
		}
	}
	if changed && w.changed != nil {
		w.changed(w.lists())
	}
}

// Reload checks the files now, and returns the lists in force.
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

// Tell registers f for changed lists. f must not call the Watch, whose callers wait for it. Call it once, before others
// use the Watch.
func (w *Watch) Tell(f func(lists []*List)) {
	if w != nil {
		w.changed = f
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

// maxFile bounds a list, in bytes: over a million entries.
const maxFile = 64 << 20

// coarse is the coarsest clock of a file system (FAT: two seconds).
const coarse = 2 * time.Second

// watched is a file with its version in force.
type watched struct {
	File
	list *List // or nil

	info    fs.FileInfo // at the last read; nil if it was missing
	recent  bool        // modified so recently that another change may be invisible
	trouble string      // as reported; empty without
}

// begin reads the file for the first time and returns any error.
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

// look accepts a new version. It returns a message for the operator, or "".
func (s *watched) look() string {
	info, err := os.Stat(s.Path)
	if err == nil && s.info != nil && !s.recent &&
		info.Size() == s.info.Size() && info.ModTime().Equal(s.info.ModTime()) && os.SameFile(info, s.info) {
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
	return s.message()
}

func (s *watched) message() string {
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

// read reads a regular file and its metadata. It does not open others: a pipe would block.
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

// Append adds new entries with a reason, which may be empty, to the list at path, and creates it if needed. It returns
// the number added. It does not touch a list that has a mistake, or would have one. A single write makes readers see all
// of it or nothing.
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

// write appends text to a file durably, and removes a partial write, which could be another entry.
func write(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("optout: %w", err)
	}
	n, err := f.WriteString(text)
	if err != nil && n > 0 {
		// the end of the write; on a full disk no other process appends in between
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
