package crawldir

import (
	"bufio"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"strconv"
	"strings"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// batch is how many seeds are in hand at a time.
const batch = 10_000

// Source gives seeds in batches, each seed once. Its method Next is a crawldir.Seeds.
type Source struct {
	given []frontier.Candidate
	lines *lines
	name  string
	bad   func(*BadLine) error

	hash maphash.Seed
	met  map[uint64]struct{} // keys, hashed: two of a million are mistaken for one with a chance of 3 in 100 million

	usable, twice int64
}

// New gives the seeds that were given, then those of a list, which may be nil. bad is told the lines that are passed over,
// and may break off; nil passes over in silence.
func New(given []frontier.Candidate, name string, list io.Reader, bad func(*BadLine) error) *Source {
	s := &Source{given: given, name: name, bad: bad, hash: maphash.MakeSeed(), met: map[uint64]struct{}{}}
	if list != nil {
		s.lines = newLines(list)
	}
	return s
}

// Next returns the next seeds, or io.EOF after the last. A list without any is a crawldir.Misuse.
func (s *Source) Next() ([]frontier.Candidate, error) {
	var next []frontier.Candidate
	for _, c := range s.given {
		next = s.take(next, c)
	}
	s.given = nil
	for s.lines != nil && len(next) < batch {
		c, err := s.lines.next()
		var wrong *BadLine
		switch {
		case err == nil:
			s.usable++
			next = s.take(next, c)
		case errors.As(err, &wrong):
			if s.bad == nil {
				continue
			}
			if err := s.bad(wrong); err != nil {
				return nil, err
			}
		case errors.Is(err, io.EOF):
			if s.lines = nil; s.usable == 0 {
				return nil, &Misuse{Err: fmt.Errorf("%s has no usable seed", s.name)}
			}
		default:
			return nil, &Misuse{Err: fmt.Errorf("seeds: %w", err)}
		}
	}
	if len(next) == 0 {
		return nil, io.EOF
	}
	return next, nil
}

// take adds a seed unless it was given before.
func (s *Source) take(to []frontier.Candidate, c frontier.Candidate) []frontier.Candidate {
	h := maphash.String(s.hash, c.URL.Key())
	if _, again := s.met[h]; again {
		s.twice++
		return to
	}
	s.met[h] = struct{}{}
	return append(to, c)
}

// Twice is how many seeds so far were given more than once.
func (s *Source) Twice() int64 { return s.twice }

// maxLine is the longest line of a list.
const maxLine = 64 << 10

// maxTag is the longest tag: every URL that descends from the seed carries it.
const maxTag = 1 << 10

// BadLine is a line of a list that is passed over.
type BadLine struct {
	Number int64
	Why    string
}

func (b *BadLine) Error() string { return fmt.Sprintf("line %d: %s", b.Number, b.Why) }

// lines reads the lines of a list.
type lines struct {
	in *bufio.Reader
	n  int64
}

func newLines(r io.Reader) *lines { return &lines{in: bufio.NewReaderSize(r, maxLine)} }

// next returns the next seed, a *BadLine, io.EOF after the last line, or what is wrong with the reader.
func (l *lines) next() (frontier.Candidate, error) {
	for {
		b, more, err := l.in.ReadLine()
		if err != nil {
			return frontier.Candidate{}, err
		}
		l.n++
		if more {
			for more && err == nil {
				_, more, err = l.in.ReadLine()
			}
			return frontier.Candidate{}, &BadLine{l.n, fmt.Sprintf("line longer than %d bytes, ignored", maxLine)}
		}
		line := string(b)
		if l.n == 1 {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		raw, tag, _ := strings.Cut(line, "\t")
		raw = strings.TrimSpace(raw)
		if raw == "" || strings.HasPrefix(raw, "#") {
			continue
		}
		if tag = strings.TrimSpace(tag); len(tag) > maxTag {
			return frontier.Candidate{}, &BadLine{l.n, fmt.Sprintf("tag longer than %d bytes; line ignored", maxTag)}
		}
		c, err := Seed(raw, tag)
		if err != nil {
			return frontier.Candidate{}, &BadLine{l.n, err.Error() + "; line ignored"}
		}
		return c, nil
	}
}

// schemeBytes are what a scheme may consist of (RFC 3986 3.1).
const schemeBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-"

// MaxQuoted is how many bytes of a bad seed a message shows.
const MaxQuoted = 100

// Quoted shows what was given as a seed.
func Quoted(raw string) string {
	if len(raw) > MaxQuoted {
		return strconv.Quote(raw[:MaxQuoted]) + "…"
	}
	return strconv.Quote(raw)
}

// Seed reads one seed URL. Unlike a link in a page it must be written out: scheme and host.
func Seed(raw, tag string) (frontier.Candidate, error) {
	scheme, rest, ok := strings.Cut(raw, "://")
	switch {
	case !ok || strings.Trim(scheme, schemeBytes) != "":
		hint := ""
		if u, err := canon.Parse("http://" + raw); err == nil && u.Authority().Loopback() {
			hint = fmt.Sprintf("; did you mean http://%s?", raw)
		} else if err == nil && strings.Contains(u.Host(), ".") {
			hint = fmt.Sprintf("; did you mean https://%s?", raw)
		}
		return frontier.Candidate{}, fmt.Errorf("seed %s has no scheme: write it like https://host/path%s", Quoted(raw), hint)
	case rest == "" || strings.ContainsAny(rest[:1], `/\?#:`):
		return frontier.Candidate{}, fmt.Errorf("seed %s has no host: write it like https://host/path", Quoted(raw))
	}
	u, err := canon.Parse(raw)
	switch {
	case err == nil:
		return frontier.Candidate{URL: u, Kind: frontier.KindSeed, Seed: u.String(), Tag: tag}, nil
	case canon.ReasonOf(err) == canon.Scheme:
		return frontier.Candidate{}, fmt.Errorf("seed %s: scheme %q is not crawled, only http and https are", Quoted(raw), scheme)
	}
	var detail *canon.Error
	if errors.As(err, &detail) && detail.Cause != nil {
		return frontier.Candidate{}, fmt.Errorf("seed %s is not a URL: %w", Quoted(raw), detail.Cause)
	}
	return frontier.Candidate{}, fmt.Errorf("seed %s: %s", Quoted(raw), canon.ReasonOf(err))
}
