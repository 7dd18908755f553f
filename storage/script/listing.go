package script

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"curtsy/frontier/canon"
	"curtsy/storage/sorted"
)

// runSize is how much memory the lines of a listing take while they are sorted.
const runSize = 4 << 20

// Listing gathers what the scripts of a site name, in bounded memory. It may be added to concurrently.
type Listing struct {
	mu sync.Mutex
	// "SCRIPT\tA\tSEGMENTS\tPAGE" for a page that loads a script, those nearest the root first;
	// "SCRIPT\tB\tNAME\tFILE" for a name in it, and the file that it is in.
	// The script is a URL; for one in a page it is what its references are relative to there.
	lines *sorted.Sorter
	cut   map[Cut]int64
}

// NewListing returns a listing whose files are in dir.
func NewListing(dir string) *Listing {
	return &Listing{lines: sorted.New(dir, runSize), cut: map[Cut]int64{}}
}

func (l *Listing) add(line string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.Add([]byte(line))
}

// Loads notes that a page loads a script.
func (l *Listing) Loads(page, script canon.URL) error {
	return l.add(fmt.Sprintf("%s\tA\t%05d\t%s", script, strings.Count(page.Path(), "/"), page))
}

// Read notes the names in a text that is in a file. They are relative to at, or to a page that loads it.
func (l *Listing) Read(text []byte, at canon.URL, file string) (err error) {
	prefix := at.String() + "\tB\t"
	cut := Find(text, func(name string) {
		if err == nil {
			err = l.add(prefix + name + "\t" + file)
		}
	})
	if cut != "" {
		l.mu.Lock()
		l.cut[cut]++
		l.mu.Unlock()
	}
	return err
}

// Cut counts the texts that were not read to their end, by why.
func (l *Listing) Cut() map[Cut]int64 { return l.cut }

// Lacking tells each URL that a file names and that is not there, in order, and forgets the listing. A name means a file
// at the one place or at the other (see Places): where one of them has it, the other is nothing that lacks.
func (l *Listing) Lacking(has func(key string) bool, lacking func(u canon.URL, file string) error) (err error) {
	defer func() { err = errors.Join(err, l.Close()) }()
	var at, page canon.URL
	for line, err := range l.lines.All() {
		if err != nil {
			return err
		}
		script, rest, _ := strings.Cut(string(line), "\t")
		kind, rest, _ := strings.Cut(rest, "\t")
		first, second, _ := strings.Cut(rest, "\t")
		if script != at.String() {
			page = canon.URL{}
			if at, err = canon.Parse(script); err != nil {
				return err
			}
		}
		switch {
		case kind == "B":
			err = lackingName(first, at, page, has, func(u canon.URL) error { return lacking(u, second) })
		case page.IsZero():
			page, err = canon.Parse(second)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func lackingName(name string, at, page canon.URL, has func(string) bool, lacking func(canon.URL) error) error {
	for u := range Places(name, at, page) {
		if has(u.Key()) {
			return nil
		}
	}
	for u := range Places(name, at, page) {
		if err := lacking(u); err != nil {
			return err
		}
	}
	return nil
}

// Close forgets the listing.
func (l *Listing) Close() error { return l.lines.Close() }
